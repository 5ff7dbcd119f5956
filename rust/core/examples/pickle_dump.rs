//! Writes down what pickles hold, executing nothing: what tests compare with Python's own pickle module.
//!
//! Pickles come on standard input, each behind its length in eight bytes, little-endian. For each a line of JSON comes
//! back: what is in it, or why it was refused.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};

use serde_json::{Value, json};
use shardproof_core::checkpoint::limits::Limits;
use shardproof_core::checkpoint::pickle::{self, Arena, Big, Handle, Items, Options, Uses, View};
use shardproof_core::interrupt::Interrupt;

/// Everything is known and may be anything, so that nothing is refused for its name.
#[expect(clippy::unnecessary_wraps, reason = "the signature of a table of names")]
fn names(_module: &str, _name: &str) -> Option<((), Uses)> {
    Some(((), Uses::Mapping))
}

/// A dump that numbers what can be shared or lie in itself, in the order in which it is met.
struct Dump<'a> {
    arena: &'a Arena<'a, ()>,
    numbers: HashMap<Handle, usize>,
    /// Sets have no order by which to number them: only that none lies in itself is watched.
    open_sets: HashSet<Handle>,
}

impl Dump<'_> {
    fn all(&mut self, items: Items<'_>) -> Vec<Value> {
        items.map(|item| self.of(item)).collect()
    }

    fn maybe(&mut self, handle: Option<Handle>) -> Value {
        handle.map_or(Value::Null, |handle| json!([self.of(handle)]))
    }

    fn of(&mut self, handle: Handle) -> Value {
        let view = self.arena.view(handle);
        if matches!(view, View::Set(_)) && !self.open_sets.insert(handle) {
            return json!(["inside itself"]);
        }
        if matches!(view, View::List(_) | View::Dict(_) | View::Instance { .. } | View::Call { .. }) {
            let next = self.numbers.len();
            if let Some(number) = self.numbers.get(&handle) {
                return json!(["again", number]);
            }
            self.numbers.insert(handle, next);
        }
        match view {
            View::None => json!(["none"]),
            View::Bool(value) => json!(["bool", value]),
            View::Int(number) => json!(["int", number.to_string()]),
            View::Big(Big::Digits(digits)) => json!(["int", String::from_utf8_lossy(digits)]),
            View::Big(Big::Bytes(bytes)) => json!(["big", hex(bytes)]),
            View::Float(number) => json!(["float", hex(&number.to_be_bytes())]),
            View::Text(text) => json!(["text", hex(text)]),
            View::Bytes(bytes) => json!(["bytes", hex(bytes)]),
            View::Tuple(items) => json!(["tuple", self.all(items)]),
            View::List(items) => json!(["list", self.all(items)]),
            View::Set(items) => {
                let items = self.all(items);
                self.open_sets.remove(&handle);
                json!(["set", items])
            }
            View::Dict(items) => json!(["dict", self.all(items)]),
            View::Global(global) => json!(["global", self.arena.path(global)]),
            View::Instance { class, state } => json!(["instance", self.of(class), self.maybe(state)]),
            View::Call { callee, arguments, state, items } => {
                json!(["call", self.of(callee), self.of(arguments), self.maybe(state), self.maybe(items)])
            }
            View::Persistent(id) => json!(["persistent", self.of(id)]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn dump(input: &[u8]) -> Value {
    match pickle::read(input, names, Options::default(), &Limits::DEFAULT, Interrupt::NEVER) {
        Err(interrupted) => json!({ "refused": interrupted.to_string() }),
        Ok((_, Some(refusal))) => json!({ "refused": refusal.to_string() }),
        Ok((arena, None)) => {
            let mut dump = Dump { arena: &arena, numbers: HashMap::new(), open_sets: HashSet::new() };
            let holds = dump.of(arena.root());
            json!({ "holds": holds, "length": arena.length() })
        }
    }
}

fn main() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut length = [0; 8];
    while input.read_exact(&mut length).is_ok() {
        let mut pickle = Vec::new();
        input.by_ref().take(u64::from_le_bytes(length)).read_to_end(&mut pickle)?;
        writeln!(output, "{}", dump(&pickle))?;
        output.flush()?;
    }
    Ok(())
}
