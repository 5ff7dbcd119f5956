//! What a pickle holds, what it would do, and what is refused.

use super::*;
use crate::findings::Code;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Shape,
    Plain,
    Ordered,
}

fn names(module: &str, name: &str) -> Option<(Role, Uses)> {
    Some(match (module, name) {
        ("torch", "Size") => (Role::Shape, Uses::Callable),
        ("torch", "float32") => (Role::Plain, Uses::Value),
        ("pkg", "Plain") => (Role::Plain, Uses::Class),
        ("collections", "OrderedDict") => (Role::Ordered, Uses::Mapping),
        ("copy_reg", "_reconstructor") => (Role::Plain, Uses::Reconstructor),
        _ => return None,
    })
}

fn read(input: &[u8]) -> (Arena<'_, Role>, Option<Refusal>) {
    super::read(input, names, Options::default(), &Limits::DEFAULT, Interrupt::NEVER).unwrap()
}

fn problem(input: &[u8]) -> Problem {
    read(input).1.expect("a refusal").problem
}

/// Codes and reasons of what a pickle would do.
fn deeds(input: &[u8]) -> Vec<(Code, String)> {
    let (arena, refusal) = read(input);
    assert_eq!(refusal, None);
    arena.deeds("f").into_iter().map(|deed| (deed.code, format!("{:?}", deed.values))).collect()
}

/// Write a thing out: tests hold nothing deep.
fn show(arena: &Arena<'_, Role>, handle: Handle) -> String {
    let all = |items: Items<'_>| items.map(|item| show(arena, item)).collect::<Vec<_>>().join(" ");
    match arena.view(handle) {
        View::None => "None".to_owned(),
        View::Bool(value) => value.to_string(),
        View::Int(number) => number.to_string(),
        View::Big(big) => format!("{:?}", big.value()),
        View::Float(number) => number.to_string(),
        View::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
        View::Bytes(bytes) => format!("{bytes:?}"),
        View::Tuple(items) => format!("({})", all(items)),
        View::List(items) => format!("[{}]", all(items)),
        View::Set(items) => format!("<{}>", all(items)),
        View::Dict(items) => format!("{{{}}}", all(items)),
        View::Global(global) => arena.path(global),
        View::Instance { class, state } => {
            format!("new {} {}", show(arena, class), state.map(|state| show(arena, state)).unwrap_or_default())
        }
        View::Call { callee, arguments, state, items } => {
            let more = [state, items].into_iter().flatten().map(|more| show(arena, more)).collect::<Vec<_>>();
            format!("call {}{} {}", show(arena, callee), show(arena, arguments), more.join(" "))
        }
        View::Persistent(id) => format!("persistent {}", show(arena, id)),
    }
}

fn shown(input: &[u8]) -> String {
    let (arena, refusal) = read(input);
    assert_eq!(refusal, None, "{input:?}");
    show(&arena, arena.root()).trim_end().to_owned()
}

#[test]
fn data_is_what_python_would_make_of_it() {
    for (input, expected) in [
        (&b"N."[..], "None"),
        (b"\x88.", "true"),
        (b"I01\n.", "true"),
        (b"I00\n.", "false"),
        (b"I-5\n.", "-5"),
        (b"J\xff\xff\xff\xff.", "-1"),
        (b"J\x00\x00\x00\x80.", "-2147483648"),
        (b"J\xff\xff\xff\x7f.", "2147483647"),
        (b"J\xff\xff\xff\x3f.", "1073741823"),
        (b"J\x00\x00\x00\x40.", "1073741824"),
        (b"J\x00\x00\x00\xc0.", "-1073741824"),
        (b"J\xff\xff\xff\xbf.", "-1073741825"),
        (b"K\xff.", "255"),
        (b"M\xff\xff.", "65535"),
        (b"\x8a\x00.", "0"),
        (b"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", "-9223372036854775808"),
        (b"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00.", "Int(9223372036854775808)"),
        (b"\x8b\x01\x00\x00\x00\x7f.", "127"),
        (b"L9223372036854775808L\n.", "Int(9223372036854775808)"),
        (b"L-7L\n.", "-7"),
        (b"G\x3f\xf8\x00\x00\x00\x00\x00\x00.", "1.5"),
        (b"F1.5\n.", "1.5"),
        (b"\x8c\x02ab.", "\"ab\""),
        (b"X\x02\x00\x00\x00ab.", "\"ab\""),
        (b"\x8d\x02\x00\x00\x00\x00\x00\x00\x00ab.", "\"ab\""),
        (b"Va\\u00e9\\\\u0041\n.", "\"aé\\\\\\\\u0041\""),
        (b"Va\xe9\n.", "\"aé\""),
        (b"S'a\\x41\\n\\101\\q'\n.", "\"aA\\nA\\\\q\""),
        (b"U\x01a.", "\"a\""),
        (b"T\x01\x00\x00\x00a.", "\"a\""),
        (b"C\x01a.", "[97]"),
        (b"B\x01\x00\x00\x00a.", "[97]"),
        (b"\x8e\x01\x00\x00\x00\x00\x00\x00\x00a.", "[97]"),
        (b"\x96\x01\x00\x00\x00\x00\x00\x00\x00a.", "[97]"),
        (b").", "()"),
        (b"(t.", "()"),
        (b"K\x01\x85.", "(1)"),
        (b"K\x01K\x02\x86.", "(1 2)"),
        (b"K\x01K\x02K\x03\x87.", "(1 2 3)"),
        (b"(K\x01K\x02K\x03K\x04t.", "(1 2 3 4)"),
        (b"(K\x01l.", "[1]"),
        (b"](K\x01K\x02e(K\x03eK\x04a.", "[1 2 3 4]"),
        (b"](e.", "[]"),
        (b"(K\x01K\x02d.", "{1 2}"),
        (b"}(K\x01K\x02uK\x03K\x04s(K\x05K\x06u.", "{1 2 3 4 5 6}"),
        (b"\x8f(K\x01\x90(K\x02\x90.", "<1 2>"),
        (b"(K\x01\x91.", "<1>"),
        (b"K\x01K\x020.", "1"),
        (b"K\x01(K\x02K\x031.", "1"),
        (b"K\x01(0.", "1"),
        (b"K\x012\x86.", "(1 1)"),
        (b"K\x07\x94h\x00\x86.", "(7 7)"),
        (b"K\x07q\x05h\x05\x86.", "(7 7)"),
        (b"K\x07p5\ng5\n\x86.", "(7 7)"),
        (b"K\x07r\x05\x00\x00\x00j\x05\x00\x00\x00\x86.", "(7 7)"),
        (b"\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00K\x01.", "1"),
        (b"ctorch\nfloat32\n.", "torch.float32"),
        (b"ctorch\nSize\n(K\x02K\x03t\x85R.", "call torch.Size((2 3))"),
        (b"cpkg\nPlain\n)\x81}(\x8c\x01aK\x01ub.", "new pkg.Plain {\"a\" 1}"),
        (b"ccollections\nOrderedDict\n)R(K\x01K\x02u.", "call collections.OrderedDict() {1 2}"),
        (b"ccollections\nOrderedDict\n)RK\x01K\x02sK\x03K\x04s}b.", "call collections.OrderedDict() {} {1 2 3 4}"),
        (b"ccopy_reg\n_reconstructor\n(cpkg\nPlain\nNNtR}b.", "new pkg.Plain {}"),
    ] {
        assert_eq!(shown(input), expected, "{}", input.escape_ascii());
    }
}

#[test]
fn equal_texts_have_equal_handles_whatever_wrote_them() {
    let (arena, _) = read(b"(\x8c\x02abX\x02\x00\x00\x00abVab\nS'ab'\nU\x02abt.");
    let View::Tuple(items) = arena.view(arena.root()) else { panic!("a tuple") };
    let items: Vec<_> = items.collect();
    assert_eq!(items.len(), 5);
    assert!(items.iter().all(|&item| Some(item) == arena.find_text("ab")));
    assert_eq!(arena.find_text("abc"), None);
}

#[test]
fn what_would_run_is_named_and_does_not_run() {
    for (input, says) in [
        (&b"cposix\nsystem\n\x8c\x01x\x85R."[..], "byte 18: it would call posix.system"),
        (b"\x8c\x05posix\x8c\x06system\x93\x8c\x01x\x85R.", "byte 20: it would call posix.system"),
        (b"(\x8c\x01xios\nsystem\n.", "byte 4: it would call os.system"),
        (b"(cos\nsystem\n\x8c\x01xo.", "byte 15: it would call os.system"),
        (b"csubprocess\nPopen\n)}\x92.", "byte 20: it would call subprocess.Popen"),
        (b"cposix\nsystem\n)\x81K\x08b.", "byte 18: it would have code of its own build posix.system"),
        (b"cposix\nsystem\nK\x01b.", "byte 16: it would have code of its own build posix.system"),
        (b"cpkg\nPlain\nR.", ""),
        (b"cpkg\nPlain\n)R.", "byte 12: it would call pkg.Plain"),
        (b"cpkg\nPlain\nK\x01\x85\x81.", "byte 14: it would call pkg.Plain"),
        // An attribute may be anything, and these opcodes call attributes.
        (
            b"cpkg\nPlain\n)\x81}(\x8c\x06appendcposix\nsystem\nub\x8c\x01xa.",
            "would have code of its own extend pkg.Plain",
        ),
        (b"cpkg\nPlain\n)\x81}b\x8c\x01xb.", "would have code of its own build pkg.Plain"),
        (b"ctorch\nfloat32\n}b.", "would have code of its own build torch.float32"),
        (b"K\x01)R.", "it would call something that has no name"),
        (b"cpkg\nPlain\n)\x81)R.", "it would call something that has no name"),
        (b"cpkg\na.b\n)R.", "it would call pkg.a.b"),
    ] {
        let (arena, refusal) = read(input);
        if says.is_empty() {
            assert!(refusal.is_some());
            continue;
        }
        let deeds = arena.deeds("f");
        let forbidden = deeds
            .iter()
            .any(|deed| deed.code == Code::MetadataForbiddenGlobal && format!("{:?}", deed.values).contains(says));
        assert!(forbidden, "{}: {deeds:?}", input.escape_ascii());
    }
}

#[test]
fn what_is_only_named_or_plainly_made_is_unknown_and_no_more() {
    for input in [
        &b"cposix\nsystem\n."[..],
        b"cmycorp\nInfo\n)\x81.",
        b"cmycorp\nInfo\n)\x81}(\x8c\x01aK\x01ub.",
        b"cmycorp\nInfo\n)\x81Nb.",
    ] {
        let deeds = deeds(input);
        assert_eq!(deeds.len(), 1, "{deeds:?}");
        assert_eq!(deeds[0].0, Code::MetadataUnknownGlobal);
    }
    assert_eq!(deeds(b"cpkg\nPlain\n)\x81}b."), []);
}

#[test]
fn what_is_no_pickle_is_refused() {
    for input in [
        &b"\xff."[..],
        b"\x80\x06N.",
        b"h\x00.",
        b"j\xff\xff\xff\xff.",
        b"Nr\xff\xff\xff\xff.",
        b"Np9999\n.",
        b"Npx\n.",
        b"\x87.",
        b".",
        b"(.",
        b"t.",
        b"(K\x01u.",
        b"}(K\x01u.",
        b"N(K\x01K\x02u.",
        b"K\x01K\x02a.",
        b"NNb.",
        b"K\x01K\x02\x93.",
        b"\x8c\x02\xff\xff.",
        b"X\x01\x00\x00\x00\x80.",
        b"Sab\n.",
        b"V\\u12\n.",
        b"Ix\n.",
        b"L\n.",
        b"I010\n.",
        b"I-07\n.",
        b"L010L\n.",
        b"I+8\n.",
        b"Fx\n.",
        b"T\xff\xff\xff\xff.",
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"\x8d\x00\x00\x00\x00\x00\x01\x00\x00abc.",
        b"\x95\xff\xff\xff\xff\xff\xff\xff\xffN.",
        b"\x95\x01\x00\x00\x00\x00\x00\x00\x00K\x01.",
        b"\x95\x0a\x00\x00\x00\x00\x00\x00\x00\x95\x00\x00\x00\x00\x00\x00\x00\x00N..",
        // A dict that an instance was built from must not change: Python has copied it.
        b"cpkg\nPlain\n)\x81}\x94bh\x00K\x01K\x02s.",
    ] {
        assert!(matches!(problem(input), Problem::Malformed(_)), "{}: {:?}", input.escape_ascii(), problem(input));
    }
    assert_eq!(problem(b""), Problem::Empty);
    for input in
        [&b"N"[..], b"K", b"\x8c\x05ab", b"X\x05\x00\x00\x00ab", b"Vab", b"cos\nsy", b"\x95\x20\0\0\0\0\0\0\0N."]
    {
        assert!(matches!(problem(input), Problem::Truncated(_)), "{}", input.escape_ascii());
    }
    for input in [&b"Pab\n."[..], b"NQ.", b"\x82\x01.", b"\x83\x01\x00.", b"\x84\x01\0\0\0.", b"\x97.", b"N\x98."] {
        assert!(matches!(problem(input), Problem::Forbidden(_)), "{}", input.escape_ascii());
    }
}

#[test]
fn persistent_ids_are_data_where_the_format_has_them() {
    let options = Options { persistent_ids: true };
    for input in [&b"NQ."[..], b"Pab\n."] {
        let (arena, refusal) = super::read(input, names, options, &Limits::DEFAULT, Interrupt::NEVER).unwrap();
        assert_eq!(refusal, None);
        assert!(matches!(arena.view(arena.root()), View::Persistent(_)));
    }
}

#[test]
fn bombs_are_refused_in_little_time_and_space() {
    let nested = [b"]".repeat(100_000), b"a".repeat(99_999), b".".to_vec()].concat();
    assert_eq!(problem(&nested), Problem::TooDeep(254));
    let tuples = [&b")"[..], &b"\x85".repeat(100_000), b"."].concat();
    assert_eq!(problem(&tuples), Problem::TooDeep(254));
    let doubling = [&b"K\x01\x85"[..], &b"2\x86".repeat(60), b"."].concat();
    assert!(matches!(problem(&doubling), Problem::TooLarge(_)));
    // A list in itself is as deep as it pleases, and does no harm.
    assert!(read(b"]\x94h\x00a.").1.is_none());
    let limits = Limits { objects: 100, ..Limits::DEFAULT };
    for input in [b"]".repeat(200), b"N".repeat(200), b"(".repeat(200)] {
        let (_, refusal) = super::read(&input, names, Options::default(), &limits, Interrupt::NEVER).unwrap();
        assert!(matches!(refusal.unwrap().problem, Problem::TooLarge(_)));
    }
}

#[test]
fn things_are_found_again_where_they_were_made() {
    let input = b"\x80\x04(K\x01K\x02K\x03K\x04t](K\x05K\x06e\x86.";
    let (arena, _) = read(input);
    let View::Tuple(items) = arena.view(arena.root()) else { panic!("a pair") };
    let mut handles: Vec<_> = items.collect();
    handles.push(arena.root());
    let places = places_of(input, names, Options::default(), &Limits::DEFAULT, &handles);
    assert_eq!(places, [Some(11), Some(12), Some(19)]);
}

#[test]
fn a_stopped_reading_has_no_answer() {
    let stop = std::sync::atomic::AtomicBool::new(true);
    let answer = super::read(b"N.", names, Options::default(), &Limits::DEFAULT, Interrupt::on(&stop));
    assert!(answer.is_err());
}
