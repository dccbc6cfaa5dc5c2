//! `indexes.toml`: what its reader refuses, and keys that come and go.

use super::*;

#[test]
fn the_committed_file_is_sound() {
    let indexes = Indexes::parse(include_str!("../../../../indexes.toml")).unwrap();
    let components = wheelhouse::component::parse(include_str!("../../../../components.toml")).unwrap();
    let rows = row::parse(include_str!("../../../../rows.toml"), &components).unwrap();
    indexes.check_rows(&rows).unwrap();
    // Nor does a row let a check be skipped that the gate does not have.
    for row in rows.values() {
        for skip in row.allowed_skips.values().flatten() {
            let rules = executorch_gate_report::Rules { skips: vec![skip.clone()], ..Default::default() };
            assert!(CHECKS.iter().any(|check| rules.allows(check.id)), "{}: {skip}", row.name);
        }
    }
    // Nobody's key stands there by mistake.
    for (name, policy) in &indexes.index {
        refused(policy.check_open(name, 1), &["closed", "wheelhouse keygen"]);
    }
}

#[test]
fn mistakes_are_named() {
    let good = indexes_toml();
    let one = owner(1).public().to_string();
    for (from, to, message) in [
        ("public = true", "public = true\nspeed = 3", "unknown field `speed`"),
        ("name = \"ann\"", "name = \"ann\"\nage = 3", "unknown field `age`"),
        ("staging = \"staging\"", "staging = \"cpu\"", "cannot be an index too"),
        ("staging = \"staging\"", "staging = \"../x\"", "cannot be the name"),
        (
            "[index.cpu]",
            "[index.\"a/b\"]\npublic = true\nrows = []\napprovals = 1\n[index.cpu]",
            "cannot be the name",
        ),
        ("[\"cpu\"]", "[\"cpu\", \"cpu\"]", "listed twice"),
        (
            "[index.cpu]",
            "[index.gpu]\npublic = true\nrows = [\"cpu\"]\napprovals = 1\n[index.cpu]",
            "a row has one index",
        ),
        ("approvals = 2", "approvals = 0", "at least one"),
        (
            "approvals = 2",
            "approvals = 2\nearlier = [{ until = 3, approvals = 1 }, { until = 2, approvals = 1 }]",
            "order",
        ),
        ("approvals = 2", "approvals = 2\nurl = \"cpu\"", "url"),
        ("name = \"bob\"", "name = \" \"", "has no name"),
        (&owner(2).public().to_string(), &one, "`ann` and `bob` have the same key"),
        (&gate().public().to_string(), &one, "also a gate's or a builder's key"),
        (&builder().public().to_string(), &one, "also a gate's or a builder's key"),
        (&builder().public().to_string(), &gate().public().to_string(), "must not vouch for its gate"),
        (&one, "ed25519:AAAA", "not a public key"),
    ] {
        assert!(good.contains(from), "{from}");
        let error = format!("{:#}", Indexes::parse(&good.replacen(from, to, 1)).unwrap_err());
        assert!(error.contains(message), "{from} -> {to}: {error}");
    }
}

#[test]
fn indexes_and_rows_must_agree() {
    let project = Project::new();
    let other = |from: &str, to: &str| {
        Indexes::parse(&indexes_toml().replace(from, to)).unwrap().check_rows(&project.rows)
    };
    refused(other("[\"cpu\"]", "[\"nothing\"]"), &["no row `nothing`"]);
    refused(other("[\"cpu\"]", "[]"), &["which does not take it"]);
    refused(other("index.cpu", "index.gpu"), &["index = \"cpu\""]);
}

#[test]
fn a_retired_key_verifies_what_it_signed_and_signs_no_more() {
    let mut project = Project::new();
    let filename = project.release("1.5.0");
    let retire = |name: &str, until| {
        let text = indexes_toml();
        let from = format!("name = \"{name}\"\n");
        Indexes::parse(&text.replace(&from, &format!("{from}until = {until}\n"))).unwrap()
    };
    project.indexes = retire("train", 1);
    project.verify().unwrap();
    refused(yank(&project.site(), "cpu", &filename, "x", &writer(), now()), &["may not write the log"]);
    project.indexes = retire("train", 0);
    refused(project.verify(), &["cpu/log/00000001.json", "trusted keys"]);
    project.indexes = retire("ann", 0);
    refused(project.verify(), &["cpu/log/00000001.json", "not signed by an owner"]);
    project.indexes = retire("lab", 0);
    refused(project.verify(), &["cpu/log/00000001.json", "not signed by a gate"]);
    project.indexes = retire("forge", 0);
    refused(project.verify(), &["cpu/log/00000001.json", "not signed by a builder"]);
    project.indexes = retire("bob", 1);
    project.verify().unwrap();
    let next = project.stage("1.5.1");
    refused(
        approve(&project.site(), "cpu", &next, &project.reports(&next), &owner(2), now(), WEEK),
        &["not the key of an owner"],
    );
}

#[test]
fn raising_the_number_of_approvals_needs_the_earlier_rule() {
    let mut project = Project::new();
    project.release("1.5.0");
    let three = indexes_toml().replace("approvals = 2", "approvals = 3");
    project.indexes = Indexes::parse(&three).unwrap();
    refused(project.verify(), &["promoted with 2", "asks for 3", "earlier"]);
    let earlier = "approvals = 3\nearlier = [{ until = 1, approvals = 2 }]";
    project.indexes = Indexes::parse(&three.replace("approvals = 3", earlier)).unwrap();
    project.verify().unwrap();
    let next = project.stage("1.5.1");
    let mut approvals = project.approvals(&next);
    refused(project.promote(&next, &project.reports(&next), &approvals), &["3 owners", "there are 2"]);
    approvals.push(project.approval(&next, 3));
    project.promote(&next, &project.reports(&next), &approvals).unwrap();
    project.verify().unwrap();
}

#[test]
fn an_index_with_too_few_owners_is_closed() {
    let mut project = Project::new();
    let text = indexes_toml();
    project.indexes =
        Indexes::parse(&text[..text.find("[[index.cpu.owners]]\nname = \"bob\"").unwrap()]).unwrap();
    project.indexes.index.get_mut("cpu").unwrap().writers =
        Indexes::parse(&text).unwrap().index["cpu"].writers.clone();
    let filename = project.stage("1.5.0");
    let result = project.promote(&filename, &project.reports(&filename), &[]);
    refused(result, &["closed", "2 approvals and has 1 owners", "wheelhouse keygen"]);
}

#[test]
fn naming_builders_for_the_first_time_needs_the_earlier_rule() {
    let mut project = Project::new();
    let text = indexes_toml();
    let without = &text[..text.find("[[index.cpu.builders]]").unwrap()];
    project.indexes = Indexes::parse(without).unwrap();
    let filename = project.stage("1.5.0");
    let statement = format!("staging/{}", statement::signed_file_name(&filename));
    project.store.put(&statement, "anything").unwrap();
    project.promote(&filename, &project.reports(&filename), &project.approvals(&filename)).unwrap();
    project.verify().unwrap();
    project.indexes = Indexes::parse(&text).unwrap();
    refused(project.verify(), &["cpu/log/00000001.json", "DSSE envelope"]);
    let earlier = "approvals = 2\nearlier = [{ until = 1, approvals = 2, unstated = true }]";
    project.indexes = Indexes::parse(&text.replace("approvals = 2", earlier)).unwrap();
    project.verify().unwrap();
    project.release("1.5.1");
    project.verify().unwrap();
}
