//! What the report says about the machine.

use crate::clean;
use executorch_gate_report::Machine;
use std::fs;
use std::path::Path;

/// Looks at the machine; what cannot be told is `unknown`.
pub fn look(home: &Path) -> Machine {
    let first_line = |program: &str, argument: &str| {
        let text = clean::output(clean::command(program, home).arg(argument)).ok()?;
        text.lines().next().map(str::to_owned)
    };
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let system = field(&release, "PRETTY_NAME=").map(|name| name.trim_matches('"').to_owned());
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = field(&cpus, "model name").or_else(|| field(&cpus, "CPU part"));
    // `ldd (Debian GLIBC 2.36-9+deb12u10) 2.36`
    let glibc = first_line("ldd", "--version").and_then(|line| Some(line.rsplit_once(' ')?.1.to_owned()));
    let python =
        first_line("python3", "--version").and_then(|line| Some(line.strip_prefix("Python ")?.to_owned()));
    let known = |text: Option<String>| text.unwrap_or_else(|| "unknown".into());
    Machine {
        system: known(system),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        glibc: known(glibc),
        cpu: known(cpu.map(|text| text.trim_start_matches([':', ' ', '\t']).to_owned())),
        python: known(python),
    }
}

/// The rest of the first line that starts with `name`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known() {
        let machine = look(Path::new("/tmp"));
        assert!(machine.glibc.starts_with("2."), "{machine:?}");
        assert!(machine.python.starts_with("3.") && machine.kernel != "unknown", "{machine:?}");
    }
}
