use super::*;
use crate::checkpoint::inventory::Inventory;

fn header(path: &str, tensors: &[&str]) -> Header {
    let entries: Vec<String> = tensors
        .iter()
        .enumerate()
        .map(|(number, name)| {
            format!(r#""{name}":{{"dtype":"U8","shape":[1],"data_offsets":[{number},{}]}}"#, number.saturating_add(1))
        })
        .collect();
    let text = format!("{{{}}}", entries.join(","));
    let mut bytes = u64::try_from(text.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(bytes.len().saturating_add(tensors.len()), 0);
    Header::read(path, &bytes, u64::try_from(bytes.len()).unwrap(), &Limits::DEFAULT)
}

fn compared(index: &str, headers: &[Header]) -> Vec<(Code, String, String)> {
    let index = Index::read("i.json", index.as_bytes(), &Limits::DEFAULT);
    let inventory: Inventory = headers.iter().map(|header| (header.path.clone(), header.size)).collect();
    let text = |text: Option<Box<str>>| text.map(String::from).unwrap_or_default();
    let findings = index.compare(&headers.iter().collect::<Vec<_>>(), &inventory);
    findings.into_iter().map(|finding| (finding.code, text(finding.fqn), text(finding.file))).collect()
}

fn expected(findings: &[(Code, &str, &str)]) -> Vec<(Code, String, String)> {
    findings.iter().map(|&(code, fqn, file)| (code, fqn.to_owned(), file.to_owned())).collect()
}

#[test]
fn an_index_and_its_files_are_compared_both_ways() {
    let (one, two) = (header("1", &["a"]), header("2", &["b", "c"]));
    let both = [one.clone(), two.clone()];
    for (index, headers, findings) in [
        (r#"{"weight_map":{"a":"1","b":"2","c":"./2"},"metadata":{"total_size":3}}"#, &both[..], &[][..]),
        (
            r#"{"weight_map":{"a":"1","b":"2","c":"2"},"metadata":{"total_size":4}}"#,
            &both,
            &[(Code::IndexTotalSize, "", "i.json")],
        ),
        (r#"{"weight_map":{"a":"1","b":"2"}}"#, &both, &[(Code::IndexExtraTensor, "c", "2")]),
        (r#"{"weight_map":{"a":"1","b":"2","c":"2","d":"2"}}"#, &both, &[(Code::IndexMissingTensor, "d", "2")]),
        (r#"{"weight_map":{"a":"1","b":"2","c":"2","d":"3"}}"#, &both, &[(Code::FileMissing, "d", "3")]),
        (r#"{"weight_map":{"a":"1","d":"3","e":"3"}}"#, &both[..1], &[(Code::FileMissing, "", "3")]),
        (r#"{"weight_map":{"a":"1"}}"#, &both, &[(Code::FileUnreferenced, "", "2")]),
        (
            r#"{"weight_map":{"a":"1","b":"../2","c":"2"}}"#,
            &both,
            &[(Code::PathEscape, "b", "../2"), (Code::IndexExtraTensor, "b", "2")],
        ),
        (r#"{"weight_map":{"a":"1","b":"2","c":"2","a":"1"}}"#, &both, &[(Code::IndexDuplicateKey, "a", "i.json")]),
    ] {
        assert_eq!(compared(index, headers), expected(findings), "{index}");
    }
}

#[test]
fn a_stale_file_beside_the_set_is_named_with_what_it_holds_twice() {
    let headers = [header("old", &["a", "z"]), header("s1", &["a"])];
    let findings = compared(r#"{"weight_map":{"a":"s1"}}"#, &headers);
    assert_eq!(findings, expected(&[(Code::FileUnreferenced, "", "old"), (Code::TensorDuplicate, "a", "old")]));
}

#[test]
fn an_index_that_is_none_says_where_and_why() {
    for index in ["", "{", "[]", "{}", r#"{"weight_map":[]}"#, r#"{"weight_map":{"a":1}}"#, "\u{0}"] {
        let index = Index::read("i.json", index.as_bytes(), &Limits::DEFAULT);
        assert!(!index.readable);
        assert_eq!(index.findings.len(), 1);
        assert_eq!(index.findings[0].code, Code::IndexMalformed);
    }
}
