//! What the pickle in an archive says of its tensor: dtype and shape, found without building one.

use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::limits::Limits;
use crate::checkpoint::pickle::{self, Arena, Handle, Options, Refusal, Uses, View};
use crate::interrupt::{Interrupt, Interrupted};

/// What a global is to the pickle of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `_rebuild_tensor_v2`: the storage says which dtype.
    Tensor,
    /// `_rebuild_tensor_v3`: the dtype is an argument.
    TypedTensor,
    /// `_rebuild_parameter`: the first argument is a tensor.
    Parameter,
    /// A storage of elements of one dtype.
    Storage(&'static str),
    /// A storage of bytes.
    Bytes,
    /// A dtype.
    Dtype,
    /// `torch.Size`.
    Size,
    /// A mapping in order.
    Mapping,
    /// Known, and of no concern.
    Other,
}

/// Look up a global of an archive's pickle.
#[must_use]
pub fn names(module: &str, name: &str) -> Option<(Role, Uses)> {
    Some(match (module, name) {
        ("torch._utils", "_rebuild_tensor_v2") => (Role::Tensor, Uses::Callable),
        ("torch._utils", "_rebuild_tensor_v3") => (Role::TypedTensor, Uses::Callable),
        ("torch._utils", "_rebuild_parameter") => (Role::Parameter, Uses::Callable),
        ("torch.storage", "UntypedStorage" | "_UntypedStorage") | ("torch", "UntypedStorage") => {
            (Role::Bytes, Uses::Value)
        }
        ("collections", "OrderedDict") => (Role::Mapping, Uses::Mapping),
        ("torch", "Size") => (Role::Size, Uses::Callable),
        ("torch", name) => match storage(name) {
            Some(dtype) => (Role::Storage(dtype), Uses::Value),
            None if Dtype::named(name).bits().is_some() => (Role::Dtype, Uses::Value),
            None => return None,
        },
        _ => return None,
    })
}

const fn storage(name: &str) -> Option<&'static str> {
    Some(match name.as_bytes() {
        b"DoubleStorage" => "float64",
        b"FloatStorage" => "float32",
        b"HalfStorage" => "float16",
        b"BFloat16Storage" => "bfloat16",
        b"LongStorage" => "int64",
        b"IntStorage" => "int32",
        b"ShortStorage" => "int16",
        b"CharStorage" => "int8",
        b"ByteStorage" => "uint8",
        b"BoolStorage" => "bool",
        b"ComplexFloatStorage" => "complex64",
        b"ComplexDoubleStorage" => "complex128",
        b"QInt8Storage" => "qint8",
        b"QUInt8Storage" => "quint8",
        b"QInt32Storage" => "qint32",
        _ => return None,
    })
}

/// The pickle of an archive, read as opcodes.
pub struct Content<'a> {
    /// Everything in it.
    pub arena: Arena<'a, Role>,
}

impl<'a> Content<'a> {
    /// Read the pickle of an archive.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] when the caller wants no answer any more.
    pub fn read(
        pickle: &'a [u8],
        limits: &Limits,
        interrupt: Interrupt<'_>,
    ) -> Result<Result<Self, Refusal>, Interrupted> {
        let (arena, refusal) = pickle::read(pickle, names, Options { persistent_ids: true }, limits, interrupt)?;
        Ok(refusal.map_or(Ok(Self { arena }), Err))
    }

    /// Dtype and shape of a tensor; `None` for anything else.
    #[must_use]
    pub fn tensor(&self, handle: Handle) -> Option<(Dtype, Vec<i64>)> {
        let (callee, arguments) = self.arena.call(handle)?;
        let (callee, arguments) = match self.arena.role(callee)? {
            Role::Parameter => self.arena.call(*self.arena.tuple(arguments)?.first()?)?,
            _ => (callee, arguments),
        };
        let arguments = self.arena.tuple(arguments)?;
        let shape = self.shape(*arguments.get(2)?)?;
        let dtype = match self.arena.role(callee)? {
            Role::Tensor => {
                let View::Persistent(id) = self.arena.view(*arguments.first()?) else { return None };
                match self.arena.role(*self.arena.tuple(id)?.get(1)?)? {
                    Role::Storage(dtype) => Dtype::named(dtype),
                    _ => return None,
                }
            }
            Role::TypedTensor => match self.arena.view(*arguments.get(6)?) {
                View::Global(global) if global.role() == Some(Role::Dtype) => {
                    Dtype::named(self.arena.path(global).rsplit('.').next()?)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some((dtype, shape))
    }

    /// The numbers in a tuple, or in a `torch.Size`.
    #[must_use]
    pub fn shape(&self, handle: Handle) -> Option<Vec<i64>> {
        let tuple = match self.arena.call(handle) {
            Some((callee, arguments)) if self.arena.role(callee) == Some(Role::Size) => {
                *self.arena.tuple(arguments)?.first()?
            }
            _ => handle,
        };
        let items = self.arena.tuple(tuple)?.iter();
        items
            .map(|&item| match self.arena.view(item) {
                View::Int(number) => Some(number),
                _ => None,
            })
            .collect()
    }
}
