//! Everything a pickle holds, as nodes of twelve bytes that refer to one another by number.
//!
//! Text and bytes are ranges of the input. Shared things are shared: nothing is ever expanded, and nothing recurses,
//! not even dropping.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::HashTable;

use super::globals::{Deed, Global};
use super::node::{Full, Handle, Kind, Making, Measure, Node, halves};
use super::number::Big;
use super::view::{Items, View};

/// A pickle that was read: everything in it, nothing of it done.
#[derive(Debug)]
pub struct Arena<'a, R> {
    input: &'a [u8],
    /// Text that had to be decoded; its places are numbered on from the end of the input.
    decoded: Vec<u8>,
    pub(super) nodes: Vec<Node>,
    pub(super) pool: Vec<Handle>,
    /// Ranges of the pool and the number of the range behind each.
    segments: Vec<(Range<u32>, u32)>,
    pub(super) makings: Vec<Making>,
    pub(super) globals: Vec<Global<R>>,
    /// The first thing that would be called or built although it has no name.
    pub(super) unnamed_deed: Option<(Deed, usize)>,
    texts: HashTable<u32>,
    keys: foldhash::fast::RandomState,
    most_nodes: usize,
    pub(super) root: Handle,
    pub(super) length: usize,
}

impl<'a, R: Copy> Arena<'a, R> {
    pub(super) fn new(input: &'a [u8], most_nodes: usize) -> Self {
        // Room as metadata of DCP needs it; what stays unused costs nothing.
        let mut nodes = Vec::with_capacity(input.len() / 10);
        nodes.extend([
            Node::new(Kind::None, 0, 0),
            Node::new(Kind::Bool, 0, 0),
            Node::new(Kind::Bool, 1, 0),
            Node::new(Kind::Tuple, 0, 0),
        ]);
        Self {
            input,
            decoded: Vec::new(),
            nodes,
            pool: Vec::with_capacity(input.len() / 5),
            segments: Vec::new(),
            makings: Vec::new(),
            globals: Vec::new(),
            unnamed_deed: None,
            texts: HashTable::new(),
            keys: foldhash::fast::RandomState::default(),
            most_nodes: most_nodes.min(usize::try_from(Handle::ABSENT.word()).unwrap_or(usize::MAX)),
            root: Handle::NONE,
            length: 0,
        }
    }

    /// The thing that the pickle is.
    #[must_use]
    pub const fn root(&self) -> Handle {
        self.root
    }

    /// Bytes up to and with STOP.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// The globals that the pickle names.
    #[must_use]
    pub fn globals(&self) -> &[Global<R>] {
        &self.globals
    }

    /// Module and name of a global, as the pickle has them.
    #[must_use]
    pub fn path(&self, global: &Global<R>) -> String {
        format!("{}.{}", self.shown(global.module), self.shown(global.name))
    }

    /// A text as it can be shown: shortened where it is long.
    #[must_use]
    pub fn shown(&self, text: Handle) -> String {
        const MOST: usize = 256;
        let text = self.text(text).unwrap_or_default();
        match text.get(..MOST) {
            Some(start) if text.len() > MOST => format!("{}... ({} bytes)", String::from_utf8_lossy(start), text.len()),
            _ => String::from_utf8_lossy(text).into_owned(),
        }
    }

    /// Look at a thing.
    #[must_use]
    pub fn view(&self, handle: Handle) -> View<'_, R> {
        if let Some(number) = handle.small_number() {
            return View::Int(number.into());
        }
        let Some(node) = usize::try_from(handle.word()).ok().and_then(|number| self.nodes.get(number)) else {
            return View::None;
        };
        let (first, second) = node.words();
        let [former, latter] = node.content;
        match node.kind {
            Kind::None => View::None,
            Kind::Bool => View::Bool(first != 0),
            Kind::Int => View::Int((u64::from(second) << 32 | u64::from(first)).cast_signed()),
            Kind::Big => View::Big(Big::Bytes(self.bytes(first, second))),
            Kind::Digits => View::Big(Big::Digits(self.bytes(first, second))),
            Kind::Float => View::Float(f64::from_bits(u64::from(second) << 32 | u64::from(first))),
            Kind::Text => View::Text(self.bytes(first, second)),
            Kind::Bytes => View::Bytes(self.bytes(first, second)),
            Kind::Single | Kind::Pair | Kind::Tuple => View::Tuple(self.items(node)),
            Kind::FrozenSet | Kind::Set | Kind::LongSet => View::Set(self.items(node)),
            Kind::List | Kind::LongList => View::List(self.items(node)),
            Kind::Dict | Kind::LongDict | Kind::State | Kind::LongState => View::Dict(self.items(node)),
            Kind::Global => {
                usize::try_from(first).ok().and_then(|number| self.globals.get(number)).map_or(View::None, View::Global)
            }
            Kind::Instance => View::Instance { class: former, state: latter.present() },
            Kind::Call => View::Call { callee: former, arguments: latter, state: None, items: None },
            Kind::Made => self.making(latter).map_or(View::None, |making| View::Call {
                callee: former,
                arguments: making.arguments,
                state: making.state.present(),
                items: making.items.present(),
            }),
            Kind::Persistent => View::Persistent(former),
        }
    }

    /// The ids of all persistent objects that the pickle asks for, in its order.
    pub fn persistent_ids(&self) -> impl Iterator<Item = Handle> {
        self.nodes.iter().filter(|node| node.kind == Kind::Persistent).map(|node| {
            let [id, _] = node.content;
            id
        })
    }

    /// Class and state of an instance.
    #[inline]
    #[must_use]
    pub fn instance(&self, handle: Handle) -> Option<(Handle, Option<Handle>)> {
        let node = self.node(handle).filter(|node| node.kind == Kind::Instance)?;
        let [class, state] = node.content;
        Some((class, state.present()))
    }

    /// Callee and arguments of a call whose result is left as it is.
    #[inline]
    #[must_use]
    pub fn call(&self, handle: Handle) -> Option<(Handle, Handle)> {
        let node = self.node(handle).filter(|node| node.kind == Kind::Call)?;
        let [callee, arguments] = node.content;
        Some((callee, arguments))
    }

    /// What a global is to the format.
    #[inline]
    #[must_use]
    pub fn role(&self, handle: Handle) -> Option<R> {
        let node = self.node(handle).filter(|node| node.kind == Kind::Global)?;
        self.globals.get(usize::try_from(node.words().0).ok()?)?.role
    }

    /// The things in a tuple.
    #[inline]
    #[must_use]
    pub fn tuple(&self, handle: Handle) -> Option<&[Handle]> {
        let node = self.nodes.get(usize::try_from(handle.word()).ok()?)?;
        match node.kind {
            Kind::Single | Kind::Pair | Kind::Tuple => self.items(node).as_slice(),
            _ => None,
        }
    }

    /// Keys and values in turn of a dict that was filled at once.
    #[inline]
    #[must_use]
    pub fn small_dict(&self, handle: Handle) -> Option<&[Handle]> {
        let node = self.nodes.get(usize::try_from(handle.word()).ok()?)?;
        match node.kind {
            Kind::Dict | Kind::State => self.items(node).as_slice(),
            _ => None,
        }
    }

    /// The bytes of a text.
    #[must_use]
    pub fn text(&self, handle: Handle) -> Option<&[u8]> {
        match self.view(handle) {
            View::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The handle of a text, if the pickle has it.
    #[must_use]
    pub fn find_text(&self, text: &str) -> Option<Handle> {
        let found =
            self.texts.find(self.keys.hash_one(text.as_bytes()), |&number| self.has_text(number, text.as_bytes()));
        found.copied().map(Handle::of)
    }

    fn has_text(&self, number: u32, text: &[u8]) -> bool {
        self.node(Handle::of(number)).is_some_and(|node| {
            let (start, length) = node.words();
            self.bytes(start, length) == text
        })
    }

    fn bytes(&self, start: u32, length: u32) -> &[u8] {
        let (Ok(start), Ok(length)) = (usize::try_from(start), usize::try_from(length)) else { return &[] };
        let (from, start) = match start.checked_sub(self.input.len()) {
            Some(start) => (self.decoded.as_slice(), start),
            None => (self.input, start),
        };
        from.get(start..start.saturating_add(length)).unwrap_or_default()
    }

    pub(super) fn making(&self, number: Handle) -> Option<&Making> {
        self.makings.get(usize::try_from(number.word()).ok()?)
    }

    pub(super) fn making_mut(&mut self, number: Handle) -> Option<&mut Making> {
        self.makings.get_mut(usize::try_from(number.word()).ok()?)
    }

    pub(super) fn add_making(&mut self, making: Making) -> Result<Handle, Full> {
        let number = u32::try_from(self.makings.len()).map_err(|_| Full)?;
        self.makings.push(making);
        Ok(Handle::of(number))
    }

    #[inline]
    pub(super) fn node(&self, handle: Handle) -> Option<Node> {
        self.nodes.get(usize::try_from(handle.word()).ok()?).copied()
    }

    #[inline]
    pub(super) fn node_mut(&mut self, handle: Handle) -> Option<&mut Node> {
        self.nodes.get_mut(usize::try_from(handle.word()).ok()?)
    }

    #[inline]
    pub(super) fn measure(&self, handle: Handle) -> Measure {
        self.node(handle).map_or(Measure::ONE, Node::measure)
    }

    #[inline]
    pub(super) fn weigh(&mut self, handle: Handle, measure: Measure) {
        if let Some(node) = self.node_mut(handle) {
            *node = node.measured(measure);
        }
    }

    /// Add a node that holds handles.
    #[inline]
    pub(super) fn add(&mut self, kind: Kind, content: [Handle; 2], measure: Measure) -> Result<Handle, Full> {
        let [first, second] = content;
        self.push(Node::new(kind, first.word(), second.word()).measured(measure))
    }

    /// Add a node that holds two numbers.
    #[inline]
    pub(super) fn add_words(&mut self, kind: Kind, first: u32, second: u32) -> Result<Handle, Full> {
        self.push(Node::new(kind, first, second))
    }

    #[inline]
    fn push(&mut self, node: Node) -> Result<Handle, Full> {
        let number = self.nodes.len();
        if number >= self.most_nodes {
            return Err(Full);
        }
        self.nodes.push(node);
        u32::try_from(number).map(Handle::of).map_err(|_| Full)
    }

    /// Add a number that may take 64 bits.
    pub(super) fn add_int(&mut self, number: i64) -> Result<Handle, Full> {
        if let Some(handle) = i32::try_from(number).ok().and_then(Handle::small) {
            return Ok(handle);
        }
        let (low, high) = halves(number.cast_unsigned());
        self.add_words(Kind::Int, low, high)
    }

    pub(super) fn add_float(&mut self, number: f64) -> Result<Handle, Full> {
        let (low, high) = halves(number.to_bits());
        self.add_words(Kind::Float, low, high)
    }

    /// Add something that is bytes of the input.
    pub(super) fn add_range(&mut self, kind: Kind, bytes: &Range<usize>) -> Result<Handle, Full> {
        let start = u32::try_from(bytes.start).map_err(|_| Full)?;
        let length = u32::try_from(bytes.len()).map_err(|_| Full)?;
        self.add_words(kind, start, length)
    }

    /// Add a text that is bytes of the input, unless it is there.
    pub(super) fn add_text(&mut self, bytes: &Range<usize>) -> Result<Handle, Full> {
        let input = self.input;
        let text = input.get(bytes.clone()).unwrap_or_default();
        let hash = self.keys.hash_one(text);
        if let Some(&number) = self.texts.find(hash, |&number| self.has_text(number, text)) {
            return Ok(Handle::of(number));
        }
        let handle = self.add_range(Kind::Text, bytes)?;
        self.remember(hash, handle);
        Ok(handle)
    }

    /// Add a text that had to be decoded.
    pub(super) fn add_decoded(&mut self, text: &[u8]) -> Result<Handle, Full> {
        let hash = self.keys.hash_one(text);
        if let Some(&number) = self.texts.find(hash, |&number| self.has_text(number, text)) {
            return Ok(Handle::of(number));
        }
        let start = self.input.len().saturating_add(self.decoded.len());
        self.decoded.extend_from_slice(text);
        let handle = self.add_range(Kind::Text, &(start..start.saturating_add(text.len())))?;
        self.remember(hash, handle);
        Ok(handle)
    }

    fn remember(&mut self, hash: u64, handle: Handle) {
        let Self { nodes, input, decoded, keys, .. } = self;
        let hash_of = |&number: &u32| {
            let node = usize::try_from(number).ok().and_then(|number| nodes.get(number));
            let (start, length) = node.map_or((0, 0), |node| node.words());
            let (Ok(start), Ok(length)) = (usize::try_from(start), usize::try_from(length)) else { return 0 };
            let (from, start) = match start.checked_sub(input.len()) {
                Some(start) => (decoded.as_slice(), start),
                None => (*input, start),
            };
            keys.hash_one(from.get(start..start.saturating_add(length)).unwrap_or_default())
        };
        self.texts.insert_unique(hash, handle.word(), hash_of);
    }

    /// Put items at the end of the pool; the range that they take.
    #[inline]
    pub(super) fn pool_items(&mut self, items: &[Handle]) -> Result<(u32, u32), Full> {
        let start = u32::try_from(self.pool.len()).map_err(|_| Full)?;
        let length = u32::try_from(items.len()).map_err(|_| Full)?;
        self.pool.extend_from_slice(items);
        Ok((start, length))
    }

    /// Put a range of the pool behind the items of a list, set or dict.
    pub(super) fn extend(&mut self, handle: Handle, start: u32, length: u32) -> Result<(), Full> {
        let Some(node) = self.node(handle) else { return Ok(()) };
        let (first, second) = node.words();
        let end = start.checked_add(length).ok_or(Full)?;
        let (kind, words) = match node.kind {
            kind @ (Kind::List | Kind::Set | Kind::FrozenSet | Kind::Dict) if second == 0 => (kind, (start, length)),
            kind @ (Kind::List | Kind::Set | Kind::Dict) => {
                let segment = u32::try_from(self.segments.len()).map_err(|_| Full)?;
                let next = segment.checked_add(1).ok_or(Full)?;
                self.segments.push((first..first.saturating_add(second), next));
                self.segments.push((start..end, u32::MAX));
                let long = match kind {
                    Kind::List => Kind::LongList,
                    Kind::Set => Kind::LongSet,
                    _ => Kind::LongDict,
                };
                (long, (segment, next))
            }
            kind => {
                let segment = u32::try_from(self.segments.len()).map_err(|_| Full)?;
                if let Some((_, next)) = usize::try_from(second).ok().and_then(|last| self.segments.get_mut(last)) {
                    *next = segment;
                }
                self.segments.push((start..end, u32::MAX));
                (kind, (first, segment))
            }
        };
        if let Some(node) = self.node_mut(handle) {
            node.kind = kind;
            node.content = [Handle::of(words.0), Handle::of(words.1)];
        }
        Ok(())
    }

    #[inline]
    fn items<'s>(&'s self, node: &'s Node) -> Items<'s> {
        let (first, second) = node.words();
        match node.kind {
            Kind::Single => Items::of(node.content.first_chunk::<1>().map_or(&[], |item| item)),
            Kind::Pair => Items::of(&node.content),
            Kind::LongList | Kind::LongSet | Kind::LongDict | Kind::LongState => {
                Items::segmented(&self.pool, &self.segments, first)
            }
            _ => Items::range(&self.pool, first, second),
        }
    }
}
