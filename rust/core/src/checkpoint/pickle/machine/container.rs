//! Tuples, lists, sets and dicts.

use super::Machine;
use crate::checkpoint::pickle::globals::{Deed, Uses};
use crate::checkpoint::pickle::node::{Full, Handle, Kind, Making, Measure, Node};
use crate::checkpoint::pickle::refusal::{Problem, Refusal};

impl<R: Copy> Machine<'_, '_, R> {
    /// What things lie in, at least.
    #[inline]
    pub(super) fn measure(&self, handles: &[Handle]) -> Measure {
        handles.iter().fold(Measure::ONE, |all, &handle| all.around(self.arena.measure(handle)))
    }

    #[inline]
    pub(super) fn bear(&self, measure: Measure) -> Result<Measure, Box<Refusal>> {
        if measure.depth > self.most_depth {
            return Err(self.cursor.refuse(Problem::TooDeep(self.most_depth.into())));
        }
        if measure.weight > self.most_weight {
            let reason = "written out in full it would take far more than the file";
            return Err(self.cursor.refuse(Problem::TooLarge(reason.to_owned())));
        }
        Ok(measure)
    }

    #[inline]
    pub(super) fn container(&mut self, kind: Kind) -> Result<(), Box<Refusal>> {
        let handle = self.arena.add_words(kind, 0, 0);
        self.made(handle)
    }

    /// Make a tuple of the last values on the stack.
    #[inline]
    pub(super) fn tuple(&mut self, length: usize) -> Result<(), Box<Refusal>> {
        let start = self.stack.len().checked_sub(length).filter(|&start| start >= self.floor);
        let items = start.and_then(|start| self.stack.get(start..)).ok_or_else(|| self.underflow())?;
        let measure = self.bear(self.measure(items))?;
        let handle = match *items {
            [] => Ok(Handle::EMPTY_TUPLE),
            [only] => self.arena.add(Kind::Single, [only, Handle::ABSENT], measure),
            [first, second] => self.arena.add(Kind::Pair, [first, second], measure),
            _ => self.arena.pool_items(items).and_then(|(start, length)| {
                let handle = self.arena.add_words(Kind::Tuple, start, length)?;
                self.arena.weigh(handle, measure);
                Ok(handle)
            }),
        };
        self.stack.truncate(start.unwrap_or_default());
        self.made(handle)
    }

    /// Make a list, dict or frozen set of everything above the mark.
    pub(super) fn gather(&mut self, kind: Kind) -> Result<(), Box<Refusal>> {
        let start = self.mark()?;
        self.container(kind)?;
        let made = self.pop()?;
        self.fill(made, start, kind == Kind::Dict)?;
        self.push(made)
    }

    /// Put everything above the mark into the container below it.
    #[inline]
    pub(super) fn add_from_mark(&mut self, kind: Kind) -> Result<(), Box<Refusal>> {
        let start = self.mark()?;
        self.add_from(start, kind)
    }

    pub(super) fn add_last(&mut self, length: usize, kind: Kind) -> Result<(), Box<Refusal>> {
        let start = self.stack.len().checked_sub(length).filter(|&start| start >= self.floor);
        let start = start.ok_or_else(|| self.underflow())?;
        self.add_from(start, kind)
    }

    #[inline]
    pub(super) fn add_from(&mut self, start: usize, kind: Kind) -> Result<(), Box<Refusal>> {
        let below = start.checked_sub(1).filter(|&below| below >= self.floor);
        let into = below.and_then(|below| self.stack.get(below)).copied().ok_or_else(|| self.underflow())?;
        let found = self.arena.node(into).filter(|_| into.small_number().is_none()).map(|node| node.kind);
        match (kind, found) {
            (Kind::Dict, Some(Kind::Dict | Kind::LongDict))
            | (Kind::List, Some(Kind::List | Kind::LongList))
            | (Kind::Set, Some(Kind::Set | Kind::LongSet)) => self.fill(into, start, kind == Kind::Dict),
            (Kind::Dict, Some(Kind::State | Kind::LongState)) => {
                Err(self.cursor.malformed("a dict changes after an instance was built from it"))
            }
            (_, Some(Kind::Instance | Kind::Call | Kind::Made | Kind::Global | Kind::Persistent)) => {
                self.add_to_object(into, start, kind)
            }
            _ => Err(self.cursor.malformed("items are put into something that takes none")),
        }
    }

    #[inline]
    pub(super) fn fill(&mut self, into: Handle, start: usize, pairs: bool) -> Result<(), Box<Refusal>> {
        let items = self.stack.get(start..).unwrap_or_default();
        if pairs && !items.len().is_multiple_of(2) {
            return Err(self.cursor.malformed("a key without a value"));
        }
        if !items.is_empty() {
            let inside = self.measure(items);
            let measure = self.bear(self.arena.measure(into).joined(inside))?;
            let (first, length) = self.arena.pool_items(items).map_err(|Full| self.too_many())?;
            self.arena.extend(into, first, length).map_err(|Full| self.too_many())?;
            self.arena.weigh(into, measure);
        }
        self.stack.truncate(start);
        Ok(())
    }

    /// Put items into what a call would return.
    pub(super) fn add_to_object(&mut self, into: Handle, start: usize, kind: Kind) -> Result<(), Box<Refusal>> {
        let Some(node) = self.arena.node(into) else { return Err(self.underflow()) };
        let [callee, arguments] = node.content;
        let mapping = matches!(node.kind, Kind::Call | Kind::Made) && self.uses(callee) == Uses::Mapping;
        if !mapping || kind != Kind::Dict {
            self.does(if node.kind == Kind::Global { into } else { callee }, Deed::Extended);
            self.stack.truncate(start);
            return Ok(());
        }
        let number = self.making(into, node, callee, arguments)?;
        let items = self.arena.making(number).map_or(Handle::ABSENT, |making| making.items);
        let items = if let Some(items) = items.present() {
            items
        } else {
            self.container(Kind::Dict)?;
            let items = self.pop()?;
            if let Some(making) = self.arena.making_mut(number) {
                making.items = items;
            }
            items
        };
        self.fill(items, start, true)?;
        let measure = self.bear(self.arena.measure(into).joined(self.arena.measure(items)))?;
        self.arena.weigh(into, measure);
        Ok(())
    }

    /// The making of a call, which is given one if it has none.
    pub(super) fn making(
        &mut self,
        call: Handle,
        node: Node,
        callee: Handle,
        second: Handle,
    ) -> Result<Handle, Box<Refusal>> {
        if node.kind == Kind::Made {
            return Ok(second);
        }
        let making = Making { arguments: second, state: Handle::ABSENT, items: Handle::ABSENT };
        let number = self.arena.add_making(making).map_err(|Full| self.too_many())?;
        if let Some(node) = self.arena.node_mut(call) {
            node.kind = Kind::Made;
            node.content = [callee, number];
        }
        Ok(number)
    }

    #[inline]
    pub(super) fn pair(&mut self, first: Handle, second: Handle) -> Result<Handle, Box<Refusal>> {
        let measure = self.bear(self.measure(&[first, second]))?;
        self.arena.add(Kind::Pair, [first, second], measure).map_err(|Full| self.too_many())
    }
}
