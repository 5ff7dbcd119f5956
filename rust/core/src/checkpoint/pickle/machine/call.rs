//! Globals, and what a pickle would do with them.

use super::Machine;
use crate::checkpoint::pickle::View;
use crate::checkpoint::pickle::globals::{Deed, Global, Uses};
use crate::checkpoint::pickle::node::{Full, Handle, Kind, Measure};
use crate::checkpoint::pickle::opcode;
use crate::checkpoint::pickle::refusal::{Problem, Refusal};

impl<R: Copy> Machine<'_, '_, R> {
    /// Opcodes that name something or ask for it.
    pub(super) fn call_opcode(&mut self, code: u8) -> Result<(), Box<Refusal>> {
        match code {
            opcode::GLOBAL => {
                let (module, name) = (self.line_text()?, self.line_text()?);
                self.global(module, name)?;
            }
            opcode::INST => {
                let (module, name) = (self.line_text()?, self.line_text()?);
                self.global(module, name)?;
                let class = self.pop()?;
                let start = self.mark()?;
                self.call_from(class, start)?;
            }
            opcode::OBJ => {
                let start = self.mark()?;
                let class = self.stack.get(start).copied();
                let class = class.ok_or_else(|| self.cursor.malformed("OBJ without a class"))?;
                self.call_from(class, start.saturating_add(1))?;
                let result = self.pop()?;
                self.stack.truncate(start);
                self.push(result)?;
            }
            opcode::NEWOBJ_EX => {
                let keywords = self.pop()?;
                let arguments = self.pop()?;
                let class = self.pop()?;
                self.does(class, Deed::Called);
                let both = self.pair(arguments, keywords)?;
                self.call(class, both)?;
            }
            opcode::PERSID => {
                if !self.options.persistent_ids {
                    return Err(self.cursor.refuse(Problem::Forbidden("PERSID")));
                }
                let id = self.line_text()?;
                self.persistent(id)?;
            }
            opcode::BINPERSID => {
                if !self.options.persistent_ids {
                    return Err(self.cursor.refuse(Problem::Forbidden("BINPERSID")));
                }
                let id = self.pop()?;
                self.persistent(id)?;
            }
            unknown => return Err(self.cursor.malformed(format!("{unknown:#04x} is no opcode"))),
        }
        Ok(())
    }

    pub(super) fn global(&mut self, module: Handle, name: Handle) -> Result<(), Box<Refusal>> {
        if let Some(&handle) = self.known.get(&(module, name)) {
            return self.push(handle);
        }
        let texts = self.arena.text(module).zip(self.arena.text(name));
        let (Some(first), Some(second)) =
            texts.map(|(module, name)| (str::from_utf8(module), str::from_utf8(name))).unzip()
        else {
            return Err(self.cursor.malformed("STACK_GLOBAL without two texts"));
        };
        let found = first.ok().zip(second.ok()).and_then(|(module, name)| (self.names)(module, name));
        let number = u32::try_from(self.arena.globals.len()).map_err(|_| self.too_many())?;
        self.arena.globals.push(Global {
            module,
            name,
            role: found.map(|(role, _)| role),
            uses: found.map_or(Uses::Unknown, |(_, uses)| uses),
            named_at: self.cursor.opcode_at(),
            deed: None,
        });
        let handle = self.arena.add_words(Kind::Global, number, 0).map_err(|Full| self.too_many())?;
        self.known.insert((module, name), handle);
        self.push(handle)
    }

    #[inline]
    pub(super) fn global_of(&self, handle: Handle) -> Option<usize> {
        let node =
            self.arena.node(handle).filter(|node| handle.small_number().is_none() && node.kind == Kind::Global)?;
        usize::try_from(node.words().0).ok()
    }

    #[inline]
    pub(super) fn uses(&self, callee: Handle) -> Uses {
        self.global_of(callee)
            .and_then(|number| self.arena.globals.get(number))
            .map_or(Uses::Unknown, |global| global.uses)
    }

    /// Note what would be done with a callee; of several deeds the worst, and of equal ones the first.
    #[cold]
    pub(super) fn does(&mut self, callee: Handle, deed: Deed) {
        let at = self.cursor.opcode_at();
        match self.global_of(callee).and_then(|number| self.arena.globals.get_mut(number)) {
            Some(global) if global.deed.is_none_or(|(worst, _)| worst < deed) => global.deed = Some((deed, at)),
            Some(_) => {}
            None => self.arena.unnamed_deed = self.arena.unnamed_deed.or(Some((deed, at))),
        }
    }

    #[inline]
    pub(super) fn call(&mut self, callee: Handle, arguments: Handle) -> Result<(), Box<Refusal>> {
        let measure = self.bear(self.measure(&[callee, arguments]))?;
        let handle = self.arena.add(Kind::Call, [callee, arguments], measure);
        self.made(handle)
    }

    /// Call with everything from a place on the stack on, and the mark below it gone.
    pub(super) fn call_from(&mut self, callee: Handle, start: usize) -> Result<(), Box<Refusal>> {
        self.does(callee, Deed::Called);
        self.tuple(self.stack.len().saturating_sub(start))?;
        let arguments = self.pop()?;
        self.call(callee, arguments)
    }

    #[inline]
    pub(super) fn reduce(&mut self, callee: Handle, arguments: Handle) -> Result<(), Box<Refusal>> {
        match self.uses(callee) {
            Uses::Callable | Uses::Factory | Uses::Mapping => self.call(callee, arguments),
            Uses::Reconstructor => match self.arena.view(arguments) {
                View::Tuple(mut items) if items.size_hint() == (3, Some(3)) => {
                    let class = items.next().unwrap_or(Handle::NONE);
                    if items.nth(1) != Some(Handle::NONE) {
                        self.does(callee, Deed::Called);
                    }
                    self.instance(class)
                }
                _ => Err(self.cursor.malformed("an object is reconstructed from something other than three arguments")),
            },
            Uses::Value | Uses::Class | Uses::Unknown => {
                self.does(callee, Deed::Called);
                self.call(callee, arguments)
            }
        }
    }

    pub(super) fn instantiate(&mut self) -> Result<(), Box<Refusal>> {
        let arguments = self.pop()?;
        let class = self.pop()?;
        if arguments != Handle::EMPTY_TUPLE {
            self.does(class, Deed::Called);
            return self.call(class, arguments);
        }
        self.instance(class)
    }

    #[inline]
    pub(super) fn instance(&mut self, class: Handle) -> Result<(), Box<Refusal>> {
        if self.uses(class) != Uses::Class {
            let named = self.global_of(class).is_some_and(|number| {
                self.arena.globals.get(number).is_some_and(|global| global.uses == Uses::Unknown)
            });
            self.does(class, if named { Deed::Instantiated } else { Deed::Called });
        }
        let handle = self.arena.add(Kind::Instance, [class, Handle::ABSENT], Measure::ONE);
        self.made(handle)
    }

    pub(super) fn persistent(&mut self, id: Handle) -> Result<(), Box<Refusal>> {
        let measure = self.bear(self.measure(&[id]))?;
        let handle = self.arena.add(Kind::Persistent, [id, Handle::ABSENT], measure);
        self.made(handle)
    }

    #[inline]
    pub(super) fn build(&mut self) -> Result<(), Box<Refusal>> {
        let state = self.pop()?;
        let object = self.top()?;
        let node = self.arena.node(object).filter(|_| object.small_number().is_none());
        let node = node.ok_or_else(|| self.cursor.malformed("a number is built"))?;
        let [class, second] = node.content;
        let plain = self.freeze(state);
        match node.kind {
            Kind::Instance => {
                // An attribute `__setstate__` would be called by a second BUILD.
                if second.present().is_some() || (!plain && self.uses(class) != Uses::Class) {
                    self.does(class, Deed::Built);
                }
                if let Some(node) = self.arena.node_mut(object) {
                    node.content = [class, state];
                }
            }
            Kind::Call | Kind::Made => {
                if !matches!(self.uses(class), Uses::Factory | Uses::Mapping) {
                    self.does(class, Deed::Built);
                }
                let number = self.making(object, node, class, second)?;
                let again = self.arena.making(number).is_some_and(|making| making.state.present().is_some());
                if again {
                    self.does(class, Deed::Built);
                }
                if let Some(making) = self.arena.making_mut(number) {
                    making.state = state;
                }
            }
            Kind::Global => self.does(object, Deed::Built),
            Kind::Persistent => self.does(Handle::NONE, Deed::Built),
            _ => return Err(self.cursor.malformed("something that has no attributes is built")),
        }
        let measure = self.bear(self.arena.measure(object).around(self.arena.measure(state)))?;
        self.arena.weigh(object, measure);
        Ok(())
    }

    /// Whether a state is plain attributes, which Python sets itself; from then on it must not change.
    #[inline]
    pub(super) fn freeze(&mut self, state: Handle) -> bool {
        if state.small_number().is_some() {
            return false;
        }
        match self.arena.node_mut(state) {
            Some(node) => {
                node.kind = match node.kind {
                    Kind::Dict => Kind::State,
                    Kind::LongDict => Kind::LongState,
                    other => other,
                };
                matches!(node.kind, Kind::State | Kind::LongState | Kind::None)
            }
            None => false,
        }
    }
}
