//! One file: what it says of the parameters, of their partition, and of how many processes there are.

use hashbrown::HashMap;

use super::document::{Document, Fault, Stored};
use super::name::{Kind, Name};
use super::role::{Role, names};
use crate::checkpoint::archive::{self, Archive, Window};
use crate::checkpoint::limits::Limits;
use crate::checkpoint::pickle::{self, Handle, Options, View};
use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};

/// Names and shapes, in order.
pub(super) type Shapes = Vec<(Box<str>, Vec<i64>)>;

/// First element in a partition, and number of elements, by the name of the parameter.
pub(super) type Fragments = HashMap<Box<str>, (u128, u128), foldhash::fast::RandomState>;

/// What one file says.
pub(super) struct State {
    pub(super) path: String,
    pub(super) name: Name,
    /// `None` where it could not be read.
    pub(super) facts: Option<Facts>,
    pub(super) findings: Vec<Finding>,
}

pub(super) enum Facts {
    Model(Model),
    Optimizer(Optimizer),
}

/// What a file about the model says.
#[derive(Default)]
pub(super) struct Model {
    /// How many processes share the state.
    pub(super) world: Option<i64>,
    /// How many hold different slices of the model.
    pub(super) slices: Option<i64>,
    /// The parameters of each group; `None` where the file does not say.
    pub(super) groups: Option<Vec<Shapes>>,
    /// The parameters that no optimizer holds.
    pub(super) frozen: Shapes,
    /// What this process holds of them.
    pub(super) frozen_pieces: HashMap<Box<str>, Stored, foldhash::fast::RandomState>,
}

/// What a file about the optimizer says.
pub(super) struct Optimizer {
    /// How many processes share each group.
    pub(super) counts: Vec<i64>,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// Stages 1 and 2: parameters one after another, cut anywhere.
    Cut(Vec<Group>),
    /// Stage 3: an equal share of each parameter, one after another in the order of the parameters.
    Shares(Vec<Stored>),
}

/// The partition of one group that a process holds.
pub(super) struct Group {
    pub(super) partition: Stored,
    /// Elements of padding that were left out at its end.
    pub(super) padding: Option<u128>,
    /// Elements of padding that may lie between parameters.
    pub(super) alignment: u128,
    /// Which elements of which parameter it holds.
    pub(super) fragments: Fragments,
}

impl State {
    /// Read one file.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] when the caller wants no answer any more.
    pub(super) fn read(
        name: Name,
        window: &mut Window<'_>,
        limits: &Limits,
        interrupt: Interrupt<'_>,
    ) -> Result<Self, Interrupted> {
        let path = name.file();
        let mut state = Self { path, name, facts: None, findings: Vec::new() };
        if window.size() == 0 {
            let empty = Finding::new(Code::FileEmpty).in_file(&state.path);
            state.findings.push(empty.with("reason", "the file has no bytes"));
            return Ok(state);
        }
        let (archive, pickle) = match open(window) {
            Ok(opened) => opened,
            Err(fault) => {
                state.findings.push(fault.finding(&state.path));
                return Ok(state);
            }
        };
        let options = Options { persistent_ids: true };
        let (arena, refusal) = pickle::read(&pickle, names, options, limits, interrupt)?;
        state.findings.extend(arena.deeds(&state.path));
        // Whoever wrote a pickle that runs code may have written anything into the rest of it.
        if state.findings.iter().any(|deed| deed.code == Code::MetadataForbiddenGlobal) {
            return Ok(state);
        }
        if let Some(refusal) = refusal {
            state.findings.push(refusal.finding(&state.path));
            return Ok(state);
        }
        let document = Document::new(arena, &archive);
        state.findings.extend(document.judge_storages(&state.path));
        let root = document.arena.root();
        let facts = match name.kind {
            Kind::Model => document.model(root).map(Facts::Model),
            Kind::Optimizer => document.optimizer(root).map(Facts::Optimizer),
        };
        match facts {
            Ok(facts) => state.facts = Some(facts),
            Err(fault) => state.findings.push(fault.finding(&state.path)),
        }
        Ok(state)
    }

    pub(super) fn model(&self) -> Option<&Model> {
        match &self.facts {
            Some(Facts::Model(model)) => Some(model),
            _ => None,
        }
    }

    pub(super) fn optimizer(&self) -> Option<&Optimizer> {
        match &self.facts {
            Some(Facts::Optimizer(optimizer)) => Some(optimizer),
            _ => None,
        }
    }
}

/// The archive that a file is, and its pickle.
fn open(window: &mut Window<'_>) -> Result<(Archive, Vec<u8>), archive::Fault> {
    let size = window.size();
    let archive = Archive::open(window, 0, size)?;
    let member = archive.member("data.pkl").ok_or_else(|| archive::Fault::Corrupt("it has no data.pkl".to_owned()))?;
    let pickle = archive.content(window, member)?.to_vec();
    Ok((archive, pickle))
}

impl Document<'_> {
    fn model(&self, root: Handle) -> Result<Model, Fault> {
        drop(self.dict(root, "the state")?);
        let number = |name| self.entry(root, name).map(|number| self.number(number, name)).transpose();
        let groups = self
            .entry(root, "param_shapes")
            .map(|groups| self.list(groups, "param_shapes")?.map(|group| self.shapes(group, "param_shapes")).collect());
        let frozen = self.entry(root, "frozen_param_shapes");
        let mut frozen_pieces = HashMap::default();
        if let Some(pieces) = self.entry(root, "frozen_param_fragments") {
            for (name, piece) in self.dict(pieces, "frozen_param_fragments")? {
                let name = self.text(name, "the name of a frozen parameter")?;
                let piece = self.tensor(piece, &name)?;
                frozen_pieces.insert(name, piece);
            }
        }
        Ok(Model {
            world: number("dp_world_size")?,
            slices: number("mp_world_size")?,
            groups: groups.transpose()?,
            frozen: frozen.map_or(Ok(Vec::new()), |frozen| self.shapes(frozen, "frozen_param_shapes"))?,
            frozen_pieces,
        })
    }

    fn dict(&self, handle: Handle, what: &str) -> Result<impl Iterator<Item = (Handle, Handle)>, Fault> {
        self.pairs(handle).ok_or_else(|| format!("{what} is {}, not a dict", self.noun(handle)).into())
    }

    /// Shapes by name.
    fn shapes(&self, handle: Handle, what: &str) -> Result<Shapes, Fault> {
        self.dict(handle, what)?
            .map(|(name, shape)| {
                let name = self.text(name, "the name of a parameter")?;
                let shape = self.shape(shape, &format!("the shape of {name}"))?;
                Ok((name, shape))
            })
            .collect()
    }

    fn optimizer(&self, root: Handle) -> Result<Optimizer, Fault> {
        drop(self.dict(root, "the state")?);
        let state = self.entry(root, "optimizer_state_dict").ok_or("there is no optimizer_state_dict".to_owned())?;
        drop(self.dict(state, "optimizer_state_dict")?);
        let counts = match self.entry(state, "partition_count") {
            None => Vec::new(),
            Some(counts) => match self.arena.view(counts) {
                View::Int(count) => vec![count],
                _ => self.numbers(counts, "partition_count")?,
            },
        };
        let stage = self.entry(state, "zero_stage").map(|stage| {
            let number = self.wrapped(stage, Role::Stage).unwrap_or(stage);
            self.number(number, "zero_stage")
        });
        let (cut, shares) =
            (self.entry(state, "single_partition_of_fp32_groups"), self.entry(state, "fp32_flat_groups"));
        let content = match (stage.transpose()?, cut, shares) {
            (None | Some(1 | 2), Some(partitions), _) => Content::Cut(self.groups(state, partitions)?),
            (None | Some(3), _, Some(shares)) => {
                let shares = self.list(shares, "fp32_flat_groups")?;
                Content::Shares(shares.map(|share| self.tensor(share, "a flat group")).collect::<Result<_, _>>()?)
            }
            (stage, ..) => {
                let stage = stage.map_or_else(|| "no stage".to_owned(), |stage| format!("stage {stage}"));
                return Err(Fault::unsupported(format!("{stage} with no partition of that stage")));
            }
        };
        Ok(Optimizer { counts, content })
    }

    fn numbers(&self, handle: Handle, what: &str) -> Result<Vec<i64>, Fault> {
        self.list(handle, what)?.map(|number| self.number(number, what)).collect()
    }

    /// The groups of stages 1 and 2: partitions, and what lies in them.
    fn groups(&self, state: Handle, partitions: Handle) -> Result<Vec<Group>, Fault> {
        let Some(maps) = self.entry(state, "param_slice_mappings") else {
            let reason = "there are no param_slice_mappings: which elements are in a partition is not known";
            return Err(Fault::unsupported(reason.to_owned()));
        };
        let mut paddings =
            self.entry(state, "group_paddings").map(|list| self.list(list, "group_paddings")).transpose()?;
        let alignments = self.entry(state, "param_alignment_paddings");
        let mut alignments = alignments.map(|list| self.list(list, "param_alignment_paddings")).transpose()?;
        let mut maps = self.list(maps, "param_slice_mappings")?;
        let mut groups = Vec::new();
        for partition in self.list(partitions, "single_partition_of_fp32_groups")? {
            let number = groups.len();
            let lacks = |what| format!("{what} have {number} groups, single_partition_of_fp32_groups has more");
            let padding = match &mut paddings {
                Some(paddings) => {
                    let padding = paddings.next().ok_or_else(|| lacks("group_paddings"))?;
                    Some(self.count(padding, "a padding")?)
                }
                None => None,
            };
            let alignment = match alignments.as_mut().and_then(Iterator::next) {
                Some(list) => self.list(list, "param_alignment_paddings")?.try_fold(0_u128, |sum, padding| {
                    self.count(padding, "a padding").map(|padding| sum.saturating_add(padding))
                })?,
                None => 0,
            };
            groups.push(Group {
                partition: self.tensor(partition, &format!("partition {number}"))?,
                padding,
                alignment,
                fragments: self.fragments(maps.next().ok_or_else(|| lacks("param_slice_mappings"))?)?,
            });
        }
        if maps.next().is_some() || paddings.is_some_and(|mut paddings| paddings.next().is_some()) {
            let reason = format!("there are {} partitions, and more paddings or slice mappings", groups.len());
            return Err(reason.into());
        }
        Ok(groups)
    }

    fn count(&self, handle: Handle, what: &str) -> Result<u128, Fault> {
        let number = self.number(handle, what)?;
        u128::try_from(number).map_err(|_| format!("{what} is {number}").into())
    }

    /// Where in a partition the elements of each parameter are.
    fn fragments(&self, map: Handle) -> Result<Fragments, Fault> {
        let mut fragments = HashMap::default();
        for (name, address) in self.dict(map, "a slice mapping")? {
            let name = self.text(name, "the name of a parameter")?;
            let state =
                self.arena.instance(address).filter(|&(class, _)| self.arena.role(class) == Some(Role::Fragment));
            let state = state.and_then(|(_, state)| state);
            let state = state.ok_or_else(|| format!("the fragment of {name} is {}", self.noun(address)))?;
            let number = |field| {
                let what = format!("{field} of the fragment of {name}");
                let number = self.entry(state, field).ok_or_else(|| format!("there is no {what}"))?;
                self.count(number, &what)
            };
            let fragment = (number("start")?, number("numel")?);
            if fragments.insert(name.clone(), fragment).is_some() {
                return Err(format!("the fragment of {name} is there twice").into());
            }
        }
        Ok(fragments)
    }
}
