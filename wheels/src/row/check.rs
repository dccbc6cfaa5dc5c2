//! Contradictions within a row and between rows. Each says which two statements cannot both hold.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::{ANY_IMAGE, Cuda, RUNTIME, Row, Rows, SYSTEM_FOLDER, System, stem_of};
use crate::component::Components;
use crate::elf::dotted;

/// Checks one row.
pub(super) fn row(row: &Row, components: &Components) -> Result<()> {
    platform(row)?;
    shipped(row, components)?;
    tested(row)?;
    label(row)?;
    budget(row)?;
    device(row, components)?;
    dependencies(row)?;
    external(row, components)?;
    gate(row)
}

/// Checks that no two rows make a wheel of the same name.
pub(super) fn matrix(rows: &Rows) -> Result<()> {
    let mut names = BTreeMap::new();
    for (name, row) in rows {
        let wheel = format!("{} +{} {}", row.package(), row.label, row.tag());
        if let Some(other) = names.insert(wheel, name) {
            bail!(
                "rows `{other}` and `{name}` make wheels of the same name: give one another label or platform"
            );
        }
    }
    Ok(())
}

fn platform(row: &Row) -> Result<()> {
    let (major, minor) = dotted(&row.glibc)
        .with_context(|| format!("glibc = \"{}\": expected a version such as 2.28", row.glibc))?;
    let platform = format!("manylinux_{major}_{minor}_{}", row.system.arch());
    ensure!(
        row.platform == platform,
        "platform = \"{}\": system and glibc call for {platform}",
        row.platform
    );
    let minor = row.python_minor()?;
    ensure!(minor >= 10, "python = \"{}\": the runtime's API needs cp310", row.python);
    let normal = crate::tag::normalize(&row.project).replace('_', "-");
    ensure!(row.project == normal, "project = \"{}\": write its normal form {normal}", row.project);
    Ok(())
}

fn label(row: &Row) -> Result<()> {
    let expected = match (&row.cuda, &row.tested.jetpack) {
        (_, Some(jetpack)) => format!("jp{}", jetpack.replace('.', "")),
        (Some(cuda), None) => format!("cu{}", cuda.version.replace('.', "")),
        (None, None) => String::new(),
    };
    ensure!(
        row.label == expected,
        "label = \"{}\": CUDA and JetPack versions of the row call for \"{expected}\"",
        row.label
    );
    let index = if row.label.is_empty() { "cpu" } else { &row.label };
    ensure!(
        row.index == index,
        "index = \"{}\": label = \"{}\" belongs to index {index}",
        row.index,
        row.label
    );
    Ok(())
}

fn shipped(row: &Row, components: &Components) -> Result<()> {
    ensure!(!row.components.is_empty(), "components is empty: a wheel ships something");
    for (place, name) in row.components.iter().enumerate() {
        let component = components
            .get(name)
            .with_context(|| format!("component `{name}` is not declared in components.toml"))?;
        let before = &row.components[..place];
        ensure!(!before.contains(name), "component `{name}` is named twice");
        if let Some(need) = component.needs.iter().find(|need| !before.contains(need)) {
            bail!("component `{name}` needs `{need}`: name it earlier in `components`");
        }
        ensure!(
            component.project == row.project,
            "component `{name}` belongs to {}, project = \"{}\"",
            component.project,
            row.project
        );
    }
    Ok(())
}

fn budget(row: &Row) -> Result<()> {
    let mut sum = 0;
    for name in &row.components {
        let budget =
            *row.budget.get(name).with_context(|| format!("component `{name}` has no size budget"))?;
        ensure!(budget > 0, "budget of `{name}` is 0: nothing could be shipped");
        sum += budget;
    }
    let wheel = *row.budget.get("wheel").context("the wheel has no size budget")?;
    if let Some(stray) = row.budget.keys().find(|key| *key != "wheel" && !row.components.contains(key)) {
        bail!("budget names `{stray}`, which the row does not ship");
    }
    ensure!(
        wheel > 0 && wheel <= sum,
        "budget of the wheel is {wheel}, those of its components are {sum} together: packed, they take less"
    );
    Ok(())
}

fn tested(row: &Row) -> Result<()> {
    let tested = &row.tested;
    let optional = [("tensorrt", &tested.tensorrt), ("jetpack", &tested.jetpack)];
    let always = [("executorch", &tested.executorch), ("torch", &tested.torch), ("numpy", &tested.numpy)];
    let given = optional.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)));
    for (key, value) in always.into_iter().chain(given) {
        let release = value.split('.').all(|part| part.parse::<u32>().is_ok());
        ensure!(release && dotted(value).is_some(), "tested.{key} = \"{value}\": expected one exact version");
    }
    if let Some(jetpack) = &tested.jetpack {
        ensure!(
            row.system == System::Aarch64,
            "tested.jetpack = \"{jetpack}\": JetPack runs on aarch64-linux only"
        );
        // Its PyTorch was built against NumPy 1.
        let old = dotted(jetpack) < Some((7, 0));
        let numpy = &tested.numpy;
        ensure!(
            !old || numpy.starts_with("1."),
            "tested.numpy = \"{numpy}\": JetPack {jetpack} needs numpy<2"
        );
    }
    let delegate = row.components.iter().any(|name| name == "backend_tensorrt");
    ensure!(
        delegate == tested.tensorrt.is_some(),
        "tested.tensorrt is given for rows that ship backend_tensorrt, and for no others"
    );
    Ok(())
}

/// GPU architectures (as compute capabilities without the dot) that a CUDA train compiles for, from the oldest that the
/// delegate's kernels run on.
fn known_architectures(cuda: &Cuda) -> Result<&'static [u32]> {
    Ok(match cuda.version.as_str() {
        "12.6" => &[80, 86, 87, 89, 90],
        "13.0" => &[80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121],
        other => bail!("cuda.version = \"{other}\": known trains are 12.6 and 13.0"),
    })
}

fn device(row: &Row, components: &Components) -> Result<()> {
    let code = row.components.iter().find(|name| components.get(*name).is_some_and(|c| c.device_code));
    let Some(cuda) = &row.cuda else {
        if let Some(name) = code {
            bail!("component `{name}` has device code, the row has no [cuda]: name the architectures");
        }
        return Ok(());
    };
    let known = known_architectures(cuda)?;
    let list = &cuda.architectures;
    if code.is_none() {
        ensure!(
            list.is_empty() && cuda.ptx == 0,
            "cuda.architectures: no component has device code; leave it empty"
        );
        return Ok(());
    }
    ensure!(list.is_sorted_by(|a, b| a < b), "cuda.architectures: name each once, in ascending order");
    if let Some(odd) = list.iter().find(|arch| !known.contains(arch)) {
        bail!("cuda.architectures: {odd} is none of CUDA {}, which has {known:?}", cuda.version);
    }
    ensure!(
        list.last() == Some(&cuda.ptx),
        "cuda.ptx = {}: PTX is for GPUs to come, of the newest architecture {:?}",
        cuda.ptx,
        list.last()
    );
    Ok(())
}

/// What the row's train calls for: its requirement on a wheel of NVIDIA's, or none.
fn train(row: &Row) -> Option<&'static str> {
    let cuda = row.cuda.as_ref().filter(|_| row.tested.jetpack.is_none())?;
    Some(if cuda.version.starts_with("12.") {
        "nvidia-cuda-runtime-cu12>=12,<13; platform_system == 'Linux'"
    } else {
        "nvidia-cuda-runtime>=13,<14; platform_system == 'Linux'"
    })
}

fn dependencies(row: &Row) -> Result<()> {
    let listed = || row.dependencies.iter().map(String::as_str);
    for (place, dependency) in row.dependencies.iter().enumerate() {
        let open = dependency.contains("{version}") && !dependency.contains("=={version}");
        ensure!(!open, "dependencies: `{dependency}` must pin `=={{version}}`");
        ensure!(
            !row.dependencies[..place].contains(dependency),
            "dependencies: `{dependency}` is named twice"
        );
    }
    let nvidia: Vec<&str> = listed().filter(|text| text.starts_with("nvidia")).collect();
    let expected: Vec<&str> = train(row).into_iter().collect();
    ensure!(
        nvidia == expected,
        "dependencies: the row's CUDA train calls for {expected:?} of NVIDIA's wheels, found {nvidia:?}"
    );
    let pin = format!("{RUNTIME}=={{version}}");
    let pinned = listed().any(|text| text == pin);
    if row.project == RUNTIME {
        ensure!(
            nvidia.len() == row.dependencies.len(),
            "dependencies: the runtime depends on nothing but CUDA"
        );
    } else {
        ensure!(
            pinned,
            "dependencies: a delegate of this project runs in its own release's runtime: add `{pin}`"
        );
    }
    let Some(tensorrt) = &row.tested.tensorrt else { return Ok(()) };
    let wheel = listed().find(|text| text.starts_with("tensorrt"));
    if row.tested.jetpack.is_some() {
        ensure!(wheel.is_none(), "dependencies: on JetPack, TensorRT comes with the system");
    } else {
        let major = tensorrt.split('.').next().unwrap_or_default();
        let cuda = row.cuda.as_ref().and_then(|cuda| cuda.version.split('.').next()).unwrap_or_default();
        let start = format!("tensorrt-cu{cuda}>={major}.");
        ensure!(
            wheel.is_some_and(|text| text.starts_with(&start)),
            "dependencies: TensorRT {tensorrt} on CUDA {cuda} calls for `{start}…`, found {wheel:?}"
        );
    }
    Ok(())
}

fn external(row: &Row, components: &Components) -> Result<()> {
    let used = |library: &str| {
        row.components
            .iter()
            .filter_map(|name| components.get(name))
            .any(|component| component.external.iter().any(|stem| stem == stem_of(library)))
    };
    for (library, folder) in &row.external {
        ensure!(used(library), "external names {library}, which no component of the row links to");
        let plain =
            !folder.is_empty() && folder.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
        ensure!(
            plain,
            "external.\"{library}\" = \"{folder}\": expected a folder in site-packages, or `system`"
        );
        let bundled = folder.starts_with("nvidia/") || folder == "tensorrt_libs";
        ensure!(
            !(bundled && row.tested.jetpack.is_some()),
            "external.\"{library}\" = \"{folder}\": on JetPack it comes with the system: \"{SYSTEM_FOLDER}\""
        );
        if let Some(cuda) = row.cuda.as_ref().filter(|_| stem_of(library) == "libcudart") {
            let major = cuda.version.split('.').next().unwrap_or_default();
            ensure!(
                *library == format!("libcudart.so.{major}"),
                "external: {library} is not of CUDA {}",
                cuda.version
            );
        }
    }
    for name in &row.components {
        let stems = components.get(name).map_or(&[][..], |component| component.external.as_slice());
        if let Some(stem) =
            stems.iter().find(|stem| !row.external.keys().any(|library| stem_of(library) == *stem))
        {
            bail!("component `{name}` links to {stem}: say in `external` where it comes from");
        }
    }
    Ok(())
}

fn gate(row: &Row) -> Result<()> {
    for image in &row.gate_images {
        let arch = if image.ends_with("-arm64") { System::Aarch64 } else { System::X86_64 };
        ensure!(arch == row.system, "gate-images: {image} is a machine for {}-linux", arch.arch());
    }
    for (image, skips) in &row.allowed_skips {
        ensure!(
            image == ANY_IMAGE || row.gate_images.contains(image),
            "allowed-skips names {image}, which is no gate image of the row, nor `{ANY_IMAGE}`"
        );
        for skip in skips {
            let sound =
                skip.split_once('.').is_some_and(|(group, check)| !group.is_empty() && !check.is_empty());
            ensure!(
                sound && !group_is_star(skip),
                "allowed-skips: `{skip}`: expected `group.check` or `group.*`"
            );
            let gpu = skip.starts_with("cuda.") || skip.starts_with("tensorrt.");
            ensure!(!gpu || row.cuda.is_some(), "allowed-skips: `{skip}`: the row has no GPU code to skip");
        }
    }
    if row.publish {
        ensure!(
            !row.gate_images.is_empty(),
            "publish = true without gate-images: nothing would have been tried"
        );
        ensure!(row.withheld.is_empty(), "publish = true, and `withheld` says why not: decide");
    } else {
        ensure!(!row.withheld.is_empty(), "publish = false: say in `withheld` what is missing");
    }
    Ok(())
}

fn group_is_star(skip: &str) -> bool {
    skip.starts_with('*')
}
