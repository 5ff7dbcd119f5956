//! Names of the files that processes write, and back.

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The model, and which parameters there are.
    Model,
    /// A process's partition of the parameters and of the optimizer's state.
    Optimizer,
}

/// Which process wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Number of the process among those that hold different slices of the model.
    pub model: u32,
    /// What the file holds.
    pub kind: Kind,
    /// Number of the process among those that share the state of one slice; `None` where one file stands for all.
    pub process: Option<u32>,
    /// Whether the name says that the model is in bfloat16.
    pub bfloat: bool,
}

impl Name {
    /// Take a name apart; `None` for a file that is neither of the kinds.
    #[must_use]
    pub fn parse(file: &str) -> Option<Self> {
        let (stem, kind) = match file.strip_suffix("_model_states.pt") {
            Some(stem) => (stem, Kind::Model),
            None => (file.strip_suffix("_optim_states.pt")?, Kind::Optimizer),
        };
        let (processes, model) = stem.rsplit_once("mp_rank_")?;
        let (bfloat, processes) = match processes.strip_prefix("bf16_") {
            Some(rest) => (true, rest),
            None => (false, processes),
        };
        let process = match processes {
            "" => None,
            _ => Some(number(processes.strip_prefix("zero_pp_rank_")?.strip_suffix('_')?)?),
        };
        // One process's partition is never everybody's.
        (kind == Kind::Model || process.is_some()).then_some(Self { model: number(model)?, kind, process, bfloat })
    }

    /// The name of the file.
    #[must_use]
    pub fn file(self) -> String {
        let bfloat = if self.bfloat { "bf16_" } else { "" };
        let process = self.process.map_or_else(String::new, |process| format!("zero_pp_rank_{process}_"));
        let kind = if self.kind == Kind::Model { "model" } else { "optim" };
        format!("{bfloat}{process}mp_rank_{:02}_{kind}_states.pt", self.model)
    }
}

/// A number without a sign.
fn number(digits: &str) -> Option<u32> {
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_apart_and_put_together_again() {
        for (file, model, kind, process, bfloat) in [
            ("mp_rank_00_model_states.pt", 0, Kind::Model, None, false),
            ("zero_pp_rank_3_mp_rank_01_model_states.pt", 1, Kind::Model, Some(3), false),
            ("zero_pp_rank_12_mp_rank_100_optim_states.pt", 100, Kind::Optimizer, Some(12), false),
            ("bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", 0, Kind::Optimizer, Some(0), true),
        ] {
            let name = Name { model, kind, process, bfloat };
            assert_eq!(Name::parse(file), Some(name));
            assert_eq!(name.file(), file);
        }
    }

    #[test]
    fn other_names_are_of_no_concern() {
        for file in [
            "",
            "latest",
            "mp_rank_00_optim_states.pt",
            "mp_rank_+1_model_states.pt",
            "mp_rank__model_states.pt",
            "zero_pp_rank_4294967296_mp_rank_00_optim_states.pt",
            "zero_pp_rank_0_mp_rank_00_optim_states.pt.tmp",
            "expp_rank_0_mp_rank_00_optim_states.pt",
            "layer_00-model_00-model_states.pt",
        ] {
            assert_eq!(Name::parse(file), None, "{file}");
        }
    }
}
