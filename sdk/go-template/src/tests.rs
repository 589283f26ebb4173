use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::*;

/// Entropy that is not random, and a clock that does not move.
struct Still;

impl Host for Still {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String> {
        for (index, byte) in buffer.iter_mut().enumerate() {
            *byte = u8::try_from(index % 200).unwrap_or(0);
        }
        Ok(())
    }
    fn now(&self) -> Result<i64, String> {
        Ok(1_700_000_000)
    }
}

fn render(template: &str, data: &Json) -> Result<String, String> {
    let engine = Engine::new(Arc::new(Still));
    let parsed = engine
        .parse(template)
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    engine.render(&parsed, data).map_err(|fault| fault.to_string())
}

fn expect(cases: &[(&str, &str)]) {
    let data = json!({
        "name": "web", "n": 3, "f": 1.5, "list": ["b", "a", "b"], "map": {"x": 1, "y": {"z": "deep"}}, "no": null,
    });
    for (template, wanted) in cases {
        assert_eq!(render(template, &data).as_deref(), Ok(*wanted), "{template}");
    }
}

#[test]
fn text_functions_answer_as_documented() {
    expect(&[
        (
            r#"{{ trim "  a " }}|{{ trimAll "$" "$5$" }}|{{ trimSuffix "-" "a-" }}|{{ trimPrefix "v" "v1" }}"#,
            "a|5|a|1",
        ),
        (r#"{{ "ab" | upper | repeat 2 }}|{{ title "hi there" }}|{{ untitle "Hi" }}"#, "ABAB|Hi There|hi"),
        (
            r#"{{ substr 1 3 "abcd" }}|{{ trunc 2 "abc" }}|{{ trunc -2 "abc" }}|{{ nospace "a b" }}"#,
            "bc|ab|bc|ab",
        ),
        (
            r#"{{ abbrev 5 "hello world" }}|{{ abbrevboth 5 10 "1234 5678 9123" }}|{{ initials "First Try" }}"#,
            "he...|...5678...|FT",
        ),
        (r#"{{ wrap 5 "aa bb cc" }}"#, "aa bb\ncc"),
        (
            r#"{{ contains "at" "cat" }} {{ hasPrefix "c" "cat" }} {{ hasSuffix "x" "cat" }}"#,
            "true true false",
        ),
        (r#"{{ quote "a" 1 .no }} {{ squote "a" }} {{ cat "a" "b" 2 }}"#, r#""a" "1" 'a' a b 2"#),
        (r#"{{ quote "it's \"so\"\n" }}"#, r#""it's \"so\"\n""#),
        (r#"{{ "a\nb" | indent 2 }}{{ "c" | nindent 1 }}"#, "  a\n  b\n c"),
        (r#"{{ "a b" | replace " " "-" }}|{{ plural "one" "many" 2 }}"#, "a-b|many"),
        (
            r#"{{ snakecase "FirstName" }} {{ camelcase "http_server" }} {{ kebabcase "HTTPServerName" }} {{ swapcase "aB" }}"#,
            "first_name HttpServer http-server-name Ab",
        ),
        (
            r#"{{ splitList "." "a.b.c" | last }} {{ (split "." "a.b")._1 }} {{ (splitn "." 2 "a.b.c")._1 }}"#,
            "c b b.c",
        ),
        (r#"{{ join "-" .list }} {{ sortAlpha .list | join "" }} {{ join "," 5 }}"#, "b-a-b abb 5"),
        (r#"{{ base "/a/b.c" }} {{ dir "/a/b.c" }} {{ ext "b.c" }}"#, "b.c /a .c"),
    ]);
}

#[test]
fn regular_expressions_answer_as_documented() {
    expect(&[
        (r#"{{ regexMatch "^modules\\.[a-z]+$" "modules.web" }}"#, "true"),
        (r#"{{ regexFind "[0-9]+" "a12b3" }} {{ regexFindAll "[0-9]" "a12b3" 2 | join "," }}"#, "12 1,2"),
        (
            r#"{{ regexReplaceAll "a(x*)b" "-axxb-" "${1}W" }} {{ regexReplaceAllLiteral "a" "banana" "$1" }}"#,
            "-xxW- b$1n$1n$1",
        ),
        (r#"{{ regexSplit "z+" "pizza" -1 | join "," }}"#, "pi,a"),
    ]);
}

#[test]
fn numbers_answer_as_documented() {
    expect(&[
        (
            "{{ add 1 2 .n }} {{ sub 5 .n }} {{ mul 2 3 }} {{ div 7 2 }} {{ mod 7 2 }} {{ add1 1 }}",
            "6 2 6 3 1 2",
        ),
        (
            "{{ max 1 5 2 }} {{ min 4 .n }} {{ addf 1.5 2 }} {{ round 1.257 2 }} {{ floor 1.9 }} {{ ceil 1.1 }}",
            "5 3 3.5 1.26 1 2",
        ),
        ("{{ until 3 }} {{ untilStep 3 6 2 }} {{ seq 5 }} {{ seq 0 2 4 }}", "[0 1 2] [3 5] 1 2 3 4 5 0 2 4"),
        (
            r#"{{ atoi "12" }} {{ int "7.9" }} {{ int64 2.5 }} {{ float64 "1.5" }} {{ toDecimal "0777" }}"#,
            "12 7 2 1.5 511",
        ),
        ("{{ default 3 .no | min 10 }} {{ gt (len .list) 2 }}", "3 true"),
    ]);
}

#[test]
fn lists_and_maps_answer_as_documented() {
    expect(&[
        ("{{ first .list }}{{ last .list }}{{ rest .list }}{{ initial .list }}", "bb[a b][b a]"),
        (
            r#"{{ append .list "c" | len }} {{ prepend .list "c" | first }} {{ concat .list (list 1) | len }}"#,
            "4 c 4",
        ),
        (
            r#"{{ uniq .list }} {{ without .list "b" }} {{ has "a" .list }} {{ compact (list 0 1 "") }}"#,
            "[b a] [a] true [1]",
        ),
        (
            r#"{{ slice .list 1 }} {{ slice "abc" 1 2 }} {{ chunk 2 .list }} {{ reverse .list }}"#,
            "[a b] b [[b a] [b]] [b a b]",
        ),
        (
            r#"{{ get .map "x" }}{{ get .map "q" }} {{ hasKey .map "y" }} {{ keys .map }} {{ dig "y" "z" "d" .map }} {{ dig "y" "q" "d" .map }}"#,
            "1 true [x y] deep d",
        ),
        (
            r#"{{ pluck "x" .map (dict "x" 2) }} {{ pick .map "x" }} {{ omit .map "x" "y" }}"#,
            "[1 2] map[x:1] map[]",
        ),
        (
            r#"{{ merge (dict "a" 1) (dict "a" 2 "b" 3) }} {{ mergeOverwrite (dict "a" (dict "b" 1 "c" 1)) (dict "a" (dict "b" 2)) }}"#,
            "map[a:1 b:3] map[a:map[b:2 c:1]]",
        ),
        (
            r#"{{ kindOf .map }} {{ kindIs "slice" .list }} {{ typeOf "x" }} {{ deepEqual .list .list }}"#,
            "map true string true",
        ),
        (
            r#"{{ coalesce .no "" "x" }} {{ ternary "a" "b" false }} {{ all 1 "" }} {{ any 1 "" }} {{ empty .no }}"#,
            "x b false true true",
        ),
    ]);
}

#[test]
fn encodings_answer_as_documented() {
    expect(&[
        (
            r#"{{ .map | toJson }} {{ "<" | toJson }} {{ "<" | toRawJson }}"#,
            r#"{"x":1,"y":{"z":"deep"}} "\u003c" "<""#,
        ),
        (r#"{{ (fromJson "{\"a\":[1]}").a }} {{ (fromYaml "a: {b: yes}").a.b }}"#, "[1] yes"),
        ("{{ .map | toYaml }}", "x: 1\n\"y\":\n  z: deep"),
        (
            r#"{{ "hello" | b64enc }} {{ "aGVsbG8=" | b64dec }} {{ "hi" | b32enc | b32dec }}"#,
            "aGVsbG8= hello hi",
        ),
        (
            r#"{{ sha256sum "a" | trunc 8 }} {{ sha1sum "a" | trunc 8 }} {{ sha512sum "a" | trunc 8 }} {{ adler32sum "Wikipedia" }}"#,
            "ca978112 86f7e437 1f40fc92 300286872",
        ),
        (
            r#"{{ (urlParse "https://u:p@h.io:8/a?b=c#d").hostname }} {{ urlParse "https://u:p@h.io:8/a?b=c#d" | urlJoin }}"#,
            "h.io https://u:p@h.io:8/a?b=c#d",
        ),
        (
            r#"{{ now | date "2006-01-02T15:04:05Z07:00" }} {{ now | unixEpoch }} {{ now | dateModify "-1h" | date "Mon 2 Jan 3PM" }}"#,
            "2023-11-14T22:13:20Z 1700000000 Tue 14 Nov 9PM",
        ),
        (
            r#"{{ (semver "v1.2.3-rc.1").Prerelease }} {{ semverCompare "^1.2.0" "1.9.3" }} {{ semverCompare ">=1.0 <2 || ~3.1" "3.2.0" }}"#,
            "rc.1 true false",
        ),
        (
            r#"{{ printf "%03d %s %q %v" 7 "a" "b" .list }} {{ index .list 1 }} {{ html "<" }} {{ urlquery "a b" }}"#,
            "007 a \"b\" [b a b] a &lt; a+b",
        ),
    ]);
}

#[test]
fn random_values_have_their_shape() {
    let text =
        render(r#"{{ randNumeric 4 }} {{ randAlphaNum 6 }} {{ uuidv4 }} {{ randInt 3 4 }}"#, &json!({}))
            .expect("rendered");
    let parts: Vec<&str> = text.split(' ').collect();
    assert!(parts[0].len() == 4 && parts[0].bytes().all(|digit| digit.is_ascii_digit()), "{text}");
    assert!(parts[1].len() == 6 && parts[3] == "3", "{text}");
    assert!(parts[2].len() == 36 && parts[2].as_bytes()[14] == b'4', "{text}");
}

#[test]
fn set_changes_the_variable_it_is_called_with() {
    expect(&[
        (r#"{{ $d := dict "a" 1 }}{{ $_ := set $d "b" 2 }}{{ $d }}"#, "map[a:1 b:2]"),
        (r#"{{ $d := dict }}{{ range .list }}{{ $_ := set $d . true }}{{ end }}{{ keys $d }}"#, "[a b]"),
        (r#"{{ $d := dict "a" 1 }}{{ $_ := unset $d "a" }}{{ $d }}"#, "map[]"),
        (
            r#"{{ $d := dict "a" 1 }}{{ $e := merge $d (dict "b" 2) }}{{ $d }}{{ $e }}"#,
            "map[a:1 b:2]map[a:1 b:2]",
        ),
    ]);
    for function in ["set $d \"b\" 2", "merge $d (dict)", "mergeOverwrite $d (dict)"] {
        let fault = render(&format!("{{{{ $d := .nothing }}}}{{{{ $_ := {function} }}}}"), &json!({}));
        let fault = fault.expect_err("in Go it is lost, or a panic");
        assert!(fault.contains("is to change `$d`, which has no value"), "{fault}");
    }
    let refused = render(r#"{{ $_ := set .map "b" 2 }}"#, &json!({})).expect_err("refused");
    assert!(refused.contains("line 1: `set` can change a variable only"), "{refused}");
}

/// The expected texts are those of Sprig 3.3 with Go 1.24.
#[test]
fn missing_values_behave_as_in_sprig_or_are_faults() {
    expect(&[
        (r#"{{ merge .none (dict "a" 1) }} {{ merge (dict "a" 1) .none }}"#, "map[a:1] map[a:1]"),
        (r#"{{ mergeOverwrite (dict "a" 1) (dict "a" 2 "b" .none) | toJson }}"#, r#"{"a":2,"b":null}"#),
        (r#"{{ merge (dict "a" "") (dict "a" 2 "b" .none) | toJson }}"#, r#"{"a":2}"#),
        (
            r#"{{ get .none "a" }}|{{ hasKey .none "a" }}|{{ unset .none "a" }}|{{ keys .none }}"#,
            "|false|map[]|[]",
        ),
        (r#"{{ dig "y" "z" 0 .map }} {{ dig "y" "no" "z" 7 .map }}"#, "deep 7"),
    ]);
    for (template, wanted) in [
        (r#"{{ set .none "a" 1 }}"#, "`set`: there is no map to change"),
        (r#"{{ dig "a" 1 .none }}"#, "`dig`: the last argument is invalid, not a map"),
        (r#"{{ dig "x" "z" 1 .map }}"#, "`dig`: `x` is int, not a map"),
        (r#"{{ merge (dict) "text" }}"#, "`merge`: needs a map, not string"),
        (r#"{{ urlJoin (dict "host" 1) }}"#, "`urlJoin`: `host` has to be text, not int"),
        (r#"{{ urlJoin (dict "userinfo" "a/b") }}"#, "`urlJoin`: `userinfo` contains a character"),
    ] {
        let fault = render(template, &json!({"map": {"x": 1}})).expect_err(template);
        assert!(fault.contains(wanted), "{template}: {fault}");
    }
}

#[test]
fn urls_are_joined_as_go_writes_them() {
    expect(&[
        (
            r#"{{ urlJoin (dict "scheme" "http" "host" "h:80" "path" "/p" "query" "q=1" "fragment" "f") }}"#,
            "http://h:80/p?q=1#f",
        ),
        (r#"{{ urlJoin (dict "scheme" "http" "host" "h" "path" "p q/ü") }}"#, "http://h/p%20q/%C3%BC"),
        (r#"{{ urlJoin (dict "scheme" "http" "userinfo" "u:p%40x" "host" "h") }}"#, "http://u:p%40x@h"),
        (r#"{{ urlJoin (dict "scheme" "file" "path" "/etc/x") }}"#, "file:///etc/x"),
        (r#"{{ urlJoin (dict "scheme" "mailto" "opaque" "a@b" "path" "/lost") }}"#, "mailto:a@b"),
        (r#"{{ urlJoin (dict "path" "a:b/c") }} {{ urlJoin (dict "host" "h") }}"#, "./a:b/c //h"),
        (r#"{{ urlJoin (dict "scheme" "x" "host" .no "fragment" "a b") }}"#, "x:#a%20b"),
        (r#"{{ (urlParse "HTTP://u:p@h/a%20b#c%20d").path }}"#, "/a b"),
    ]);
}

#[test]
fn faults_say_where() {
    let cases = [
        (
            "a\n{{ nothere 1 }}\n{{ indexx 1 }}",
            "line 2: there is no function `nothere`; line 3: there is no function `indexx`; did you mean `index`?",
        ),
        (
            "a\n{{/* text *//}\nb",
            "line 2: comment not terminated by closing delimiter; a comment ends with `*/}}` or `*/ -}}`",
        ),
        ("\n\n{{ if true }}{{ fail \"no, thanks\" }}{{ end }}", "line 3: no, thanks"),
        ("{{ range .list }}\n{{ .x.y | b64dec }}{{ end }}", ""),
        (
            "\narn: {{ .drivers.role_arn }}",
            "line 2: `.drivers.role_arn` has no value; if it may be missing, use `default`",
        ),
        (
            "{{ .list }}\n{{ printf \"a-%s\" .env.id }}",
            "line 2: `.env.id` has no value that `printf` could show; if it may be missing, use `default`",
        ),
        ("{{ $x := .none }}{{ print \"a\" ($x.y) }}", "line 1: `$x.y` has no value that `print` could show"),
        ("{{ printf \"%d\" (.none | default 1) }}{{ print nil }}", ""),
        ("{{ if }}", "line 1: "),
        ("{{ index .list 9 }}", "line 1: index out of range: 9"),
        ("{{ div 1 0 }}", "line 1: `div`: division by zero, or the number is too large"),
        ("{{ define \"a\" }}\n{{ fail \"inside\" }}{{ end }}\n{{ template \"a\" }}", "line 2: inside"),
    ];
    for (template, wanted) in cases {
        let fault = render(template, &json!({"list": []}));
        if wanted.is_empty() {
            assert!(fault.is_ok(), "{template}: {fault:?}");
        } else {
            let fault = fault.expect_err(template);
            assert!(fault.starts_with(wanted), "{template}: {fault}");
        }
    }
}

#[test]
fn it_is_known_what_a_template_reads() {
    let engine = Engine::new(Arc::new(Still));
    let line =
        |template: &str| engine.parse(template).unwrap_or_else(|faults| panic!("{faults:?}")).reads("x");
    for (template, expected) in [
        ("{{ .x }}", Some(1)),
        ("a\n{{ if eq .y (upper .x.z) }}{{ end }}", Some(2)),
        ("{{ with .y }}{{ $.x }}{{ end }}", Some(1)),
        ("{{ range .y }}{{ . }}{{ else }}\n{{ .x }}{{ end }}", Some(2)),
        ("{{ $v := .x }}", Some(1)),
        ("{{ with .y }}{{ .x }}{{ end }}{{ range .y }}{{ .x }}{{ end }}", None),
        ("{{ .y.x }}{{ $.y.x }}{{ (.y).x }} .x", None),
        ("{{ define \"d\" }}{{ .x }}{{ end }}{{ template \"d\" .y }}", None),
        ("{{ template \"d\" .x }}{{ define \"d\" }}{{ end }}", Some(1)),
    ] {
        assert_eq!(line(template), expected, "{template}");
    }
}

#[test]
fn a_render_is_bounded() {
    let cases = [
        (r#"{{ repeat 100000000 "xxxxxxxxxx" }}"#, "longer than"),
        (r#"{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}"#, "more than"),
        (r#"{{ until 10000000 }}"#, "more than 100000"),
        (r#"{{ define "r" }}{{ template "r" . }}{{ end }}{{ template "r" . }}"#, "recursion"),
        (
            r#"{{ $s := "aaaaaaaaaaaaaaaa" }}{{ range until 40 }}{{ $s = print $s $s }}{{ end }}{{ $s }}"#,
            "larger than",
        ),
        (
            r#"{{ $l := list 1 }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ $l | toJson }}"#,
            "more than",
        ),
        (r#"{{ $l := list 1 }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ $l }}"#, "longer than"),
        (r#"{{ range until 90000 }}aaaaaaaaaaaaaaaa{{ end }}"#, "longer than"),
    ];
    for (template, wanted) in cases {
        let fault = render(template, &json!({})).expect_err(template);
        assert!(fault.contains(wanted), "{template}: {fault}");
    }
    let deep = format!("{}{}", "{{ if true }}".repeat(5000), "{{ end }}".repeat(5000));
    assert!(render(&deep, &json!({})).is_err());
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(5000), ")".repeat(5000));
    assert!(render(&deep, &json!({})).is_err());
}

#[test]
fn ranges_of_versions_choose_as_the_known_library_does() {
    let Some(path) = purlin_corpus::find("masterminds/masterminds_check.json") else { return };
    let text = std::fs::read_to_string(path).expect("a table");
    let rows: Vec<Json> = serde_json::from_str(&text).expect("a list");
    let answer = |row: &Json| render("{{ semverCompare .constraint .version }}", row);
    let wrong: Vec<String> = rows
        .iter()
        .filter(|row| answer(row) != Ok(row["want"].to_string()))
        .map(|row| format!("{row}: {:?}", answer(row)))
        .collect();
    assert!(rows.len() > 200 && wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
