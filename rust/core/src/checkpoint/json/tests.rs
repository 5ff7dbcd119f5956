use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1 << 20;

fn document(text: &str) -> Result<Value<'_>, JsonError> {
    Value::document(text.as_bytes(), LIMIT)
}

#[test]
fn order_repetition_and_positions_of_keys_survive() {
    let text = r#" {"b": 1, "a": [2, "x"], "b": {"\u0062": null}}"#;
    let object = document(text).unwrap().object().unwrap();
    let keys: Vec<_> = object.members().iter().map(|member| (member.key.as_ref(), member.byte_offset)).collect();
    assert_eq!(keys, [("b", 2), ("a", 10), ("b", 25)]);
    assert_eq!(object.value("b").unwrap().integer(), Ok(1));
    assert_eq!(object.repeated().len(), 1);
    let error = object.unique().unwrap_err();
    assert_eq!(error.to_string(), "duplicate key \"b\" at byte 25");
}

#[test]
fn an_escaped_key_repeats_the_plain_one() {
    let object = document(r#"{"b":0,"\u0062":1}"#).unwrap().object().unwrap();
    assert_eq!(object.repeated().first().map(|member| member.byte_offset), Some(7));
}

#[test]
fn a_large_object_finds_its_repeated_keys_too() {
    let members: Vec<_> = (0..1000).map(|n| format!("\"{}\":{n}", n % 900)).collect();
    let text = format!("{{{}}}", members.join(","));
    assert_eq!(document(&text).unwrap().object().unwrap().repeated().len(), 100);
}

#[test]
fn whole_numbers_are_exact() {
    let read = |text: &'static str| document(text).unwrap().integer();
    assert_eq!(read("9223372036854775808"), Ok(1 << 63));
    assert_eq!(read("-9223372036854775809"), Ok(-(1 << 63) - 1));
    assert_eq!(read("18446744073709551616"), Ok(1 << 64));
    let beyond = document("1000000000000000000000000000000000000000").unwrap();
    assert_eq!(beyond.integer().unwrap_err().problem, Problem::IntegerOverflow);
    for float in ["1.0", "1e3", "-0.5"] {
        let error = document(float).unwrap().integer().unwrap_err();
        assert_eq!(error.problem, Problem::Unexpected { found: Kind::Float, wanted: "an integer" });
    }
}

#[test]
fn faults_are_named_with_their_byte() {
    let cases: &[(&[u8], usize, Problem)] = &[
        (b"", 0, Problem::Empty),
        (b" \n ", 0, Problem::Empty),
        (b"{\"a\": [1, 2", 11, Problem::Truncated),
        (b"{\n\n \"a\": 1,\n", 12, Problem::Truncated),
        (b"{\"a\": 1}\n\n x", 11, Problem::Syntax("trailing characters".into())),
        (b"{\"a\": NaN}", 6, Problem::Syntax("expected value".into())),
        (b"[01]", 2, Problem::Syntax("invalid number".into())),
        (b"[\"\xff\"]", 2, Problem::NotUtf8),
        (b"{1: 2}", 1, Problem::Syntax("key must be a string".into())),
    ];
    for (bytes, byte_offset, problem) in cases {
        let error = Value::document(bytes, LIMIT).unwrap_err();
        assert_eq!((error.byte_offset, &error.problem), (*byte_offset, problem), "{bytes:?}");
    }
    let error = Value::document(b"[1, 2, 3]", 8).unwrap_err();
    assert_eq!(error.problem, Problem::TooLarge { length: 9, limit: 8 });
    let value = document("{\"a\": \"\\ud800\"}").unwrap().object().unwrap().value("a").unwrap();
    assert!(matches!(value.string().unwrap_err().problem, Problem::Syntax(_)));
    let object = document(" {}").unwrap().object().unwrap();
    assert_eq!(object.required("shape").unwrap_err().to_string(), "no \"shape\" at byte 1");
}

#[test]
fn depth_costs_neither_stack_nor_time() {
    let depth = 200_000;
    let text = format!("{{\"deep\":{}{},\"a\":1}}", "[".repeat(depth), "]".repeat(depth));
    let object = document(&text).unwrap().object().unwrap();
    assert_eq!(object.value("a").unwrap().integer(), Ok(1));
    assert_eq!(object.value("deep").unwrap().array().unwrap().len(), 1);
    assert!(document(&"[".repeat(depth)).is_err());
}

/// Everything in a value, opened level by level, as serde_json's own tree.
fn tree(value: Value<'_>) -> Result<serde_json::Value, JsonError> {
    Ok(match value.kind() {
        Kind::Object => {
            let object = value.object()?;
            let members = object.members().iter().map(|member| Ok((member.key.to_string(), tree(member.value)?)));
            serde_json::Value::Object(members.collect::<Result<_, JsonError>>()?)
        }
        Kind::Array => value.array()?.into_iter().map(tree).collect::<Result<Vec<_>, _>>()?.into(),
        Kind::String => value.string()?.into_owned().into(),
        Kind::Bool => value.boolean()?.into(),
        Kind::Null => serde_json::Value::Null,
        Kind::Integer | Kind::Float => {
            // serde_json's own tree has no room for numbers beyond a double; the text has.
            serde_json::from_str(value.text()).map_err(|_| value.wrong(Problem::IntegerOverflow))?
        }
    })
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        "\\PC*".prop_map(Into::into),
        "[\"\\\\\n\t\u{0}a]{0,4}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::vec(("[a-c\"\\\\é]{0,3}", inner), 0..8)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reads_what_serde_json_reads(json in any_json(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) }.unwrap();
        prop_assert_eq!(tree(document(&text).unwrap()).unwrap(), json);
    }

    #[test]
    fn accepts_what_serde_json_accepts(json in any_json(), at: prop::sample::Index, byte: u8) {
        let mut bytes = serde_json::to_vec(&json).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let ours = Value::document(&bytes, LIMIT).and_then(tree);
        match (ours, serde_json::from_slice::<serde_json::Value>(&bytes)) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (Err(error), Err(_)) => prop_assert!(error.byte_offset <= bytes.len()),
            (ours, theirs) => prop_assert!(false, "{:?} against {:?}", ours, theirs),
        }
    }
}
