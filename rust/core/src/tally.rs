//! Findings with a bound on how many are kept: all are counted.

use std::collections::BTreeMap;

use crate::findings::{Code, Finding};

/// Findings of a whole part: exact counts of each code, and the first few of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    most: usize,
    counts: BTreeMap<Code, u64>,
    findings: Vec<Finding>,
}

impl Tally {
    /// Keep at most `most` findings of each code.
    #[must_use]
    pub const fn keeping(most: usize) -> Self {
        Self { most, counts: BTreeMap::new(), findings: Vec::new() }
    }

    /// Whether another finding of this code would be kept: if not, [`Tally::count`] is enough.
    #[must_use]
    pub fn keeps(&self, code: Code) -> bool {
        let counted = self.counts.get(&code).copied().unwrap_or_default();
        usize::try_from(counted).is_ok_and(|counted| counted < self.most)
    }

    /// Count a finding without keeping it.
    pub fn count(&mut self, code: Code) {
        let counted = self.counts.entry(code).or_default();
        *counted = counted.saturating_add(1);
    }

    /// Count a finding, and keep it while there is room: then its number, for [`Tally::kept`], is the answer.
    pub fn push(&mut self, finding: Finding) -> Option<usize> {
        let kept = self.keeps(finding.code);
        self.count(finding.code);
        kept.then(|| {
            self.findings.push(finding);
            self.findings.len().saturating_sub(1)
        })
    }

    /// How many findings of each code are kept at most.
    #[must_use]
    pub const fn most(&self) -> usize {
        self.most
    }

    /// Take over what another tally has, telling each finding more.
    pub fn absorb(&mut self, other: Self, tell: impl Fn(Finding) -> Finding) {
        let mut counts = other.counts;
        for finding in other.findings {
            if let Some(count) = counts.get_mut(&finding.code) {
                *count = count.saturating_sub(1);
            }
            self.push(tell(finding));
        }
        for (code, count) in counts.into_iter().filter(|&(_, count)| count > 0) {
            let counted = self.counts.entry(code).or_default();
            *counted = counted.saturating_add(count);
        }
    }

    /// A finding that was kept, to be told more.
    pub fn kept(&mut self, number: usize) -> Option<&mut Finding> {
        self.findings.get_mut(number)
    }

    /// How many there are of each code, kept or not.
    #[must_use]
    pub const fn counts(&self) -> &BTreeMap<Code, u64> {
        &self.counts
    }

    /// Those that were kept, in the order in which they came.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl Extend<Finding> for Tally {
    fn extend<I: IntoIterator<Item = Finding>>(&mut self, findings: I) {
        for finding in findings {
            self.push(finding);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_of_each_code_kept() {
        let mut tally = Tally::keeping(2);
        tally.extend((0..5).map(|position| Finding::new(Code::ChunkGap).at(position)));
        tally.push(Finding::new(Code::FileMissing));
        assert_eq!(
            tally.counts().iter().map(|(&code, &count)| (code, count)).collect::<Vec<_>>(),
            [(Code::ChunkGap, 5), (Code::FileMissing, 1)]
        );
        assert_eq!(tally.findings().len(), 3);
    }
}
