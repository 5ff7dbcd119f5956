//! Follows the opcodes of a pickle, building what they describe and doing nothing of it.
#![expect(
    clippy::unnecessary_box_returns,
    reason = "results that fit a register make following opcodes a third faster"
)]

use super::arena::Arena;
use super::cursor::Cursor;
use super::globals::Names;
use super::node::{Full, Handle, Kind};
use super::refusal::{Problem, Refusal};
use super::{Options, opcode};
use crate::checkpoint::limits::Limits;
use crate::interrupt::{Interrupt, Interrupted};

mod call;
mod container;
mod data;

/// Memo entries that may be passed over.
const SPARE: usize = 1 << 8;

/// Bytes between two questions whether to go on.
const BLOCK: usize = 1 << 20;

pub(super) struct Machine<'a, 'l, R> {
    cursor: Cursor<'a>,
    arena: Arena<'a, R>,
    stack: Vec<Handle>,
    /// How high the stack was when each MARK came: what lies below belongs to whoever set it.
    marks: Vec<usize>,
    floor: usize,
    memo: Vec<Handle>,
    /// Where to find a global by its module and name.
    known: hashbrown::HashMap<(Handle, Handle), Handle, foldhash::fast::RandomState>,
    names: Names<R>,
    options: Options,
    limits: &'l Limits,
    /// What everything written out may take.
    most_weight: f32,
    most_depth: u8,
}

impl<'a, 'l, R: Copy> Machine<'a, 'l, R> {
    pub(super) fn new(input: &'a [u8], names: Names<R>, options: Options, limits: &'l Limits) -> Self {
        #[expect(
            clippy::cast_precision_loss,
            clippy::as_conversions,
            reason = "a bound whose last digits mean nothing"
        )]
        let most_weight = (input.len() as f32 + 64.0) * limits.expansion as f32;
        Self {
            cursor: Cursor::new(input),
            arena: Arena::new(input, limits.objects),
            stack: Vec::new(),
            marks: Vec::new(),
            floor: 0,
            // Room as metadata of DCP needs it; what stays unused costs nothing.
            memo: Vec::with_capacity(input.len() / 8),
            known: hashbrown::HashMap::default(),
            names,
            options,
            limits,
            most_weight,
            most_depth: u8::try_from(limits.depth).unwrap_or(u8::MAX).min(u8::MAX - 1),
        }
    }

    /// Follow the opcodes up to STOP, or to one that cannot be followed.
    pub(super) fn run(mut self, interrupt: Interrupt<'_>) -> Result<(Arena<'a, R>, Option<Refusal>), Interrupted> {
        let mut followed = Ok(true);
        let mut ask = 0;
        while let Ok(true) = followed {
            if self.cursor.at() >= ask {
                ask = self.cursor.at().saturating_add(BLOCK);
                interrupt.check()?;
            }
            followed = self.follow();
        }
        self.arena.length = self.cursor.at();
        Ok((self.arena, followed.err().map(|refusal| *refusal)))
    }

    /// Follow the opcodes until things have been made, and answer where. Handles come in ascending order.
    pub(super) fn places_of(mut self, handles: &[Handle]) -> Vec<Option<usize>> {
        let mut places = Vec::with_capacity(handles.len());
        for &handle in handles {
            let mut place = None;
            while place.is_none() && matches!(self.follow(), Ok(true)) {
                place = self.arena.node(handle).map(|_| self.cursor.opcode_at());
            }
            places.push(place);
        }
        places
    }

    /// Follow one opcode; whether another one comes.
    #[inline]
    fn follow(&mut self) -> Result<bool, Box<Refusal>> {
        let code = self.cursor.opcode()?;
        if code == opcode::STOP {
            self.arena.root = self.pop()?;
            return Ok(false);
        }
        self.step(code)?;
        // Nearly everything is remembered as soon as it is made.
        if self.cursor.follows(opcode::MEMOIZE) {
            self.put(self.memo.len())?;
        }
        Ok(true)
    }

    #[inline]
    fn step(&mut self, code: u8) -> Result<(), Box<Refusal>> {
        match code {
            opcode::MEMOIZE => self.put(self.memo.len())?,
            opcode::BINGET => {
                let [number] = self.cursor.array()?;
                self.get(number.into())?;
            }
            opcode::LONG_BINGET => {
                let number = u32::from_le_bytes(self.cursor.array()?);
                self.get(number.into())?;
            }
            opcode::BININT1 => {
                let [number] = self.cursor.array()?;
                self.int(number.into())?;
            }
            opcode::BININT2 => {
                let number = u16::from_le_bytes(self.cursor.array()?);
                self.int(number.into())?;
            }
            opcode::BININT => {
                let number = i32::from_le_bytes(self.cursor.array()?);
                self.int(number.into())?;
            }
            opcode::TUPLE1 => self.tuple(1)?,
            opcode::TUPLE2 => self.tuple(2)?,
            opcode::TUPLE3 => self.tuple(3)?,
            opcode::TUPLE => {
                let start = self.mark()?;
                self.tuple(self.stack.len().saturating_sub(start))?;
            }
            opcode::EMPTY_TUPLE => self.push(Handle::EMPTY_TUPLE)?,
            opcode::MARK => {
                self.floor = self.stack.len();
                self.marks.push(self.floor);
                self.height()?;
            }
            opcode::EMPTY_DICT => self.container(Kind::Dict)?,
            opcode::EMPTY_LIST => self.container(Kind::List)?,
            opcode::EMPTY_SET => self.container(Kind::Set)?,
            opcode::SETITEMS => self.add_from_mark(Kind::Dict)?,
            opcode::APPENDS => self.add_from_mark(Kind::List)?,
            opcode::ADDITEMS => self.add_from_mark(Kind::Set)?,
            opcode::SETITEM => self.add_last(2, Kind::Dict)?,
            opcode::APPEND => self.add_last(1, Kind::List)?,
            opcode::NEWOBJ => self.instantiate()?,
            opcode::REDUCE => {
                let arguments = self.pop()?;
                let callee = self.pop()?;
                self.reduce(callee, arguments)?;
            }
            opcode::BUILD => self.build()?,
            opcode::SHORT_BINUNICODE => {
                let [length] = self.cursor.array()?;
                self.text(length.into())?;
            }
            opcode::BINUNICODE => {
                let length = u32::from_le_bytes(self.cursor.array()?);
                self.text(length.into())?;
            }
            opcode::STACK_GLOBAL => {
                let name = self.pop()?;
                let module = self.pop()?;
                self.global(module, name)?;
            }
            opcode::NONE => self.push(Handle::NONE)?,
            opcode::NEWTRUE => self.push(Handle::TRUE)?,
            opcode::NEWFALSE => self.push(Handle::FALSE)?,
            opcode::FRAME => {
                let length = u64::from_le_bytes(self.cursor.array()?);
                self.cursor.frame(length)?;
            }
            other => self.step_rarely(other)?,
        }
        Ok(())
    }

    /// What hardly any metadata needs.
    fn step_rarely(&mut self, code: u8) -> Result<(), Box<Refusal>> {
        match code {
            opcode::PROTO => {
                let [version] = self.cursor.array()?;
                if version > opcode::NEWEST {
                    return Err(self.cursor.malformed(format!("pickle protocol {version} is not known")));
                }
            }
            opcode::LIST => self.gather(Kind::List)?,
            opcode::DICT => self.gather(Kind::Dict)?,
            opcode::FROZENSET => self.gather(Kind::FrozenSet)?,
            opcode::POP => {
                if self.stack.len() > self.floor {
                    self.stack.pop();
                } else {
                    self.mark()?;
                }
            }
            opcode::POP_MARK => {
                let start = self.mark()?;
                self.stack.truncate(start);
            }
            opcode::DUP => {
                let top = self.top()?;
                self.push(top)?;
            }
            opcode::GET | opcode::PUT => {
                let line = self.cursor.line()?;
                let number = str::from_utf8(line).ok().and_then(|line| line.trim().parse().ok());
                let number = number.ok_or_else(|| self.cursor.malformed("a memo index that is no number"))?;
                if code == opcode::GET { self.get(number)? } else { self.put_at(number)? }
            }
            opcode::BINPUT => {
                let [number] = self.cursor.array()?;
                self.put_at(number.into())?;
            }
            opcode::LONG_BINPUT => {
                let number = u32::from_le_bytes(self.cursor.array()?);
                self.put_at(number.into())?;
            }
            opcode::EXT1 | opcode::EXT2 | opcode::EXT4 => {
                return Err(self.cursor.refuse(Problem::Forbidden("EXT")));
            }
            opcode::NEXT_BUFFER => return Err(self.cursor.refuse(Problem::Forbidden("NEXT_BUFFER"))),
            opcode::READONLY_BUFFER => return Err(self.cursor.refuse(Problem::Forbidden("READONLY_BUFFER"))),
            other => self.text_opcode(other)?,
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, handle: Handle) -> Result<(), Box<Refusal>> {
        self.stack.push(handle);
        self.height()
    }

    #[inline]
    fn height(&self) -> Result<(), Box<Refusal>> {
        if self.stack.len().max(self.marks.len()) > self.limits.objects {
            return Err(self.too_many());
        }
        Ok(())
    }

    #[inline]
    fn made(&mut self, handle: Result<Handle, Full>) -> Result<(), Box<Refusal>> {
        match handle {
            Ok(handle) => self.push(handle),
            Err(Full) => Err(self.too_many()),
        }
    }

    #[cold]
    fn too_many(&self) -> Box<Refusal> {
        self.cursor.refuse(Problem::TooLarge(format!("more than {} objects", self.limits.objects)))
    }

    #[inline]
    fn pop(&mut self) -> Result<Handle, Box<Refusal>> {
        if self.stack.len() > self.floor {
            self.stack.pop().ok_or_else(|| self.underflow())
        } else {
            Err(self.underflow())
        }
    }

    #[inline]
    fn top(&self) -> Result<Handle, Box<Refusal>> {
        self.stack.get(self.floor..).and_then(|above| above.last()).copied().ok_or_else(|| self.underflow())
    }

    #[cold]
    fn underflow(&self) -> Box<Refusal> {
        self.cursor.malformed("the stack has too few values for this opcode")
    }

    /// Take the last mark away; where on the stack it was.
    #[inline]
    fn mark(&mut self) -> Result<usize, Box<Refusal>> {
        let start = self.marks.pop().ok_or_else(|| self.cursor.malformed("no MARK was set"))?;
        self.floor = self.marks.last().copied().unwrap_or_default();
        Ok(start)
    }

    #[inline]
    fn put(&mut self, number: usize) -> Result<(), Box<Refusal>> {
        let top = self.top()?;
        match self.memo.get_mut(number) {
            Some(entry) => *entry = top,
            None => self.memo.push(top),
        }
        Ok(())
    }

    fn put_at(&mut self, number: u64) -> Result<(), Box<Refusal>> {
        // Writers number entries without gaps, and every one of them takes a byte at least.
        let most = self.cursor.at().saturating_add(SPARE);
        let number = usize::try_from(number).ok().filter(|&number| number < most).ok_or_else(|| {
            let before = self.cursor.opcode_at();
            self.cursor.malformed(format!("memo index {number} after {before} bytes"))
        })?;
        if number > self.memo.len() {
            self.memo.resize(number, Handle::ABSENT);
        }
        self.put(number)
    }

    #[inline]
    fn get(&mut self, number: u64) -> Result<(), Box<Refusal>> {
        let entry = usize::try_from(number).ok().and_then(|number| self.memo.get(number)).copied();
        match entry.and_then(Handle::present) {
            Some(handle) => self.push(handle),
            None => Err(self.cursor.malformed(format!("memo entry {number} was never set"))),
        }
    }
}
