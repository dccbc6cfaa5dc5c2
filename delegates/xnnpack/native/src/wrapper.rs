//! Scripts by which cmake calls zig: it wants one program per tool, and clang's arguments for the machine.

use crate::Target;
use anyhow::Result;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The scripts, each of which hands its arguments to zig.
pub struct Wrappers {
    pub cc: PathBuf,
    pub cxx: PathBuf,
    pub ar: PathBuf,
    pub ranlib: PathBuf,
}

/// Writes the scripts into `folder`.
pub fn write(folder: &Path, zig: &Path, target: Target) -> Result<Wrappers> {
    fs::create_dir_all(folder)?;
    let script = |name: &str, text: String| -> Result<PathBuf> {
        let path = folder.join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    };
    let zig = quoted(zig);
    Ok(Wrappers {
        cc: script("cc", compile_only(compiler(&zig, "cc", target)))?,
        cxx: script("c++", compile_only(compiler(&zig, "c++", target)))?,
        ar: script("ar", format!("#!/bin/sh\nexec {zig} ar \"$@\"\n"))?,
        ranlib: script("ranlib", format!("#!/bin/sh\nexec {zig} ranlib \"$@\"\n"))?,
    })
}

/// The script of a compiler that does not link. cmake's first probe, which would link a program, then fails at once,
/// and the next one only compiles. zig would compile C and C++ libraries first, for minutes, that nothing here needs.
fn compile_only(script: String) -> String {
    script.replacen('\n', "\ncase \" $* \" in *' -c '*|*' -E '*|*' --version '*) ;; *) exit 1 ;; esac\n", 1)
}

/// A compiler's script. zig takes `-march` for the name of a processor, so the architecture that XNNPACK asks for
/// is written as the plain processor with zig's names of the extensions; and handed to the assembler as it is, which
/// zig tells nothing of the processor.
pub fn compiler(zig: &str, tool: &str, target: Target) -> String {
    let translate = match target {
        Target::X86_64 => "",
        Target::Aarch64 => {
            "for argument do\n\
             \x20 shift\n\
             \x20 case $argument in\n\
             \x20   -march=armv8.2-a*)\n\
             \x20     extensions=$(printf %s \"${argument#-march=armv8.2-a}\" | sed s/+fp16/+fullfp16/)\n\
             \x20     case \"$* \" in\n\
             \x20       *'.S '*) argument=-Wa,$argument ;;\n\
             \x20       *) argument=-mcpu=generic+v8_2a$extensions ;;\n\
             \x20     esac\n\
             \x20     ;;\n\
             \x20 esac\n\
             \x20 set -- \"$@\" \"$argument\"\n\
             done\n"
        }
    };
    format!("#!/bin/sh\n{translate}exec {zig} {tool} -target {} \"$@\"\n", target.triple())
}

/// A path as one word of a script.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use executorch_tools::command::output;
    use std::process::Command;

    /// The arguments that zig gets.
    fn seen(target: Target, arguments: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let zig = dir.path().join("it's zig");
        fs::write(&zig, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
        fs::set_permissions(&zig, fs::Permissions::from_mode(0o755)).unwrap();
        let wrappers = write(dir.path(), &zig, target).unwrap();
        let text = output(Command::new(wrappers.cc).args(arguments)).unwrap();
        text.lines().map(String::from).collect()
    }

    #[test]
    fn arguments_reach_zig_as_they_are() {
        let arguments = ["-march=armv8.2-a+fp16", "-DX=\"a b\"", "-c", "it's"];
        let expected = [&["cc", "-target", "x86_64-linux-gnu.2.28"], &arguments[..]].concat();
        assert_eq!(seen(Target::X86_64, &arguments), expected);
    }

    #[test]
    fn programs_are_not_linked() {
        let dir = tempfile::tempdir().unwrap();
        let wrappers = write(dir.path(), Path::new("echo"), Target::X86_64).unwrap();
        for (program, tool) in [(&wrappers.cc, "cc"), (&wrappers.cxx, "c++")] {
            assert!(output(Command::new(program).args(["-O2", "x.cc"])).is_err());
            let text = output(Command::new(program).args(["-c", "x.cc"])).unwrap();
            assert_eq!(text, format!("{tool} -target x86_64-linux-gnu.2.28 -c x.cc\n"));
        }
    }

    #[test]
    fn arm_architectures_are_translated_but_for_the_assembler() {
        let arguments = ["-march=armv8.2-a+dotprod+fp16", "-c", "-march=armv8.2-a+sve+sve2"];
        assert_eq!(
            seen(Target::Aarch64, &arguments)[3..],
            ["-mcpu=generic+v8_2a+dotprod+fullfp16", "-c", "-mcpu=generic+v8_2a+sve+sve2"]
        );
        assert_eq!(
            seen(Target::Aarch64, &["-march=armv8.2-a+fp16", "-c", "x.S"])[3..],
            ["-Wa,-march=armv8.2-a+fp16", "-c", "x.S"]
        );
    }
}
