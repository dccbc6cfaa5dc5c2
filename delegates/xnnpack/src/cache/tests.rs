//! Sessions: who packs, who shares, and what a folder changes.

mod unwritable;

use super::digest::Digest;
use super::disk::{Folder, Reference};
use super::session::Session;
use super::settings::Settings;
use super::table::Table;
use super::{Key, Packed, save_all};
use crate::graph::*;
use arrayvec::ArrayVec;
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::{Error, Result};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

extern crate executorch_core as _;
extern crate executorch_threadpool as _;

const INPUTS: usize = 33;
const OUTPUTS: usize = 1000;

fn constant(owner: &Arc<dyn AsRef<[u8]> + Send + Sync>, start: usize, size: usize) -> Role {
    Role::Constant(Constant::new(Arc::clone(owner), start, size).unwrap())
}

fn value(dims: &[usize], role: Role) -> Value {
    Value { dims: dims.iter().copied().collect(), element: Element::Float32, role, serialized_id: 0 }
}

/// A fully connected node, whose filter and bias are at the start of `weights`.
pub(super) fn graph(weights: &Arc<dyn AsRef<[u8]> + Send + Sync>) -> Graph {
    let filter = INPUTS * OUTPUTS * 4;
    Graph {
        values: vec![
            value(&[1, INPUTS], Role::Input(0)),
            value(&[OUTPUTS, INPUTS], constant(weights, 0, filter)),
            value(&[OUTPUTS], constant(weights, filter, OUTPUTS * 4)),
            value(&[1, OUTPUTS], Role::Output(1)),
        ],
        nodes: vec![Node {
            op: Op::FullyConnected,
            inputs: [0, 1, 2].into_iter().map(ValueId).collect(),
            outputs: ArrayVec::from_iter([ValueId(3)]),
            clamp: None,
            transposed_weight: false,
            debug_handle: 0,
        }],
        inputs: vec![ValueId(0)],
        outputs: vec![ValueId(3)],
        arguments: 2,
    }
}

pub(super) fn weights(seed: u8) -> Arc<dyn AsRef<[u8]> + Send + Sync> {
    Arc::new((0..(INPUTS + 1) * OUTPUTS * 4).map(|i| (i as u8).wrapping_mul(seed)).collect::<Vec<u8>>())
}

fn table() -> &'static Table {
    Box::leak(Box::default())
}

fn in_memory() -> Settings {
    Settings { enabled: true, folder: None }
}

fn on_disk(path: &Path) -> Settings {
    Settings { enabled: true, folder: Some(Folder::new(path)) }
}

/// Counts what it packs: the filter's bytes backwards.
#[derive(Default)]
struct Packer {
    packed: AtomicUsize,
}

impl Packer {
    fn get(&self, session: &Session, graph: &Graph) -> Result<Arc<Packed>> {
        let Role::Constant(filter) = &graph.values[1].role else { unreachable!() };
        session.get_or_pack(&Key::of_node("backwards", graph, &graph.nodes[0]), filter.bytes().len(), |to| {
            self.packed.fetch_add(1, Ordering::Relaxed);
            to.iter_mut().rev().zip(filter.bytes()).for_each(|(to, from)| *to = *from);
            Ok(())
        })
    }

    /// A whole session; says whether it had to pack.
    fn load(&self, table: &'static Table, settings: &Settings, graph: &Graph) -> (Arc<Packed>, bool) {
        let before = self.packed.load(Ordering::Relaxed);
        let session = Session::with_table(table, settings, graph, b"configuration");
        let packed = self.get(&session, graph).unwrap();
        assert!(session.finish().is_saved());
        let Role::Constant(filter) = &graph.values[1].role else { unreachable!() };
        assert!((*packed).as_ref().iter().rev().eq(filter.bytes()), "the right weights");
        (packed, self.packed.load(Ordering::Relaxed) > before)
    }
}

#[test]
fn graphs_with_equal_weights_share_them() {
    let (packer, table) = (Packer::default(), table());
    // Two copies of the same weights, and other ones.
    let (mut first, second, mut other) = (graph(&weights(3)), graph(&weights(3)), graph(&weights(5)));
    for value in first.values.iter_mut().chain(&mut other.values) {
        if let Role::Constant(constant) = &mut value.role {
            constant.key = Some("a name that both claim".into());
        }
    }
    let (a, packed) = packer.load(table, &in_memory(), &first);
    assert!(packed && !a.is_mapped());
    let (b, packed) = packer.load(table, &in_memory(), &second);
    assert!(!packed);
    assert_eq!((*a).as_ref().as_ptr(), (*b).as_ref().as_ptr(), "in memory once");
    let (c, packed) = packer.load(table, &in_memory(), &other);
    assert!(packed && !Arc::ptr_eq(&a, &c));

    let freed = Arc::downgrade(&a);
    drop(a);
    assert!(freed.upgrade().is_some());
    drop(b);
    assert!(freed.upgrade().is_none(), "freed with its last user");
    assert!(packer.load(table, &in_memory(), &first).1);
}

#[test]
fn sharing_can_be_turned_off() {
    let (packer, table) = (Packer::default(), table());
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { enabled: false, ..on_disk(folder.path()) };
    let graph = graph(&weights(3));
    let (a, _) = packer.load(table, &settings, &graph);
    let (b, packed) = packer.load(table, &settings, &graph);
    assert!(packed && !Arc::ptr_eq(&a, &b));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(packer.load(table, &in_memory(), &graph).1, "it is not offered to others either");
}

#[test]
fn whatever_packing_depends_on_makes_a_difference() {
    let weights = weights(3);
    let of = |change: fn(&mut Graph)| {
        let mut graph = graph(&weights);
        change(&mut graph);
        let session = Session::with_table(table(), &in_memory(), &graph, b"");
        format!("{:?}", session.names(&Key::of_node("packer", &graph, &graph.nodes[0])))
    };
    let plain = of(|_| {});
    assert_eq!(plain, of(|_| {}));
    assert_eq!(plain, of(|graph| graph.values[0].dims[0] = 7), "batch sizes do not");
    let affine = |scale, zero_point| Affine { scale, zero_point };
    let changes: [fn(&mut Graph); 10] = [
        |graph| graph.values[1].dims.swap(0, 1),
        |graph| graph.nodes[0].transposed_weight = true,
        |graph| graph.nodes[0].clamp = Some(Clamp { min: 0.0, max: 6.0 }),
        |graph| graph.nodes[0].op = Op::BatchMatrixMultiply,
        |graph| graph.nodes[0].inputs.truncate(2),
        |graph| graph.values[1].element = Element::Int32,
        |graph| graph.values[0].element = Element::QDInt8 { nonbatch_dims: 1 },
        |graph| {
            let scales = [1.0, 2.0].into();
            graph.values[1].element = Element::QCInt8(PerChannel { scales, dim: 0, zero_point: 0 });
        },
        |graph| {
            let scales = [1.0, 2.5].into();
            graph.values[1].element = Element::QCInt8(PerChannel { scales, dim: 0, zero_point: 0 });
        },
        |graph| {
            let scales = [1.0, 2.5].into();
            graph.values[1].element = Element::QCInt4(PerChannel { scales, dim: 0, zero_point: 8 });
        },
    ];
    let mut all = vec![plain];
    for (i, change) in changes.into_iter().enumerate() {
        let changed = of(change);
        assert!(!all.contains(&changed), "change {i}");
        all.push(changed);
    }
    for quantized in [affine(1.0, 0), affine(1.0, 1), affine(2.0, 0)] {
        let mut graph = graph(&weights);
        graph.values[3].element = Element::QInt8(quantized);
        let session = Session::with_table(table(), &in_memory(), &graph, b"");
        let changed = format!("{:?}", session.names(&Key::of_node("packer", &graph, &graph.nodes[0])));
        assert!(!all.contains(&changed));
        all.push(changed);
    }
    let graph = graph(&weights);
    let session = Session::with_table(table(), &in_memory(), &graph, b"");
    for key in [
        Key::of_node("other packer", &graph, &graph.nodes[0]),
        Key::of_node("packer", &graph, &graph.nodes[0]).number(1),
        Key::of_node("packer", &graph, &graph.nodes[0]).bytes(b"1"),
    ] {
        let changed = format!("{:?}", session.names(&key));
        assert!(!all.contains(&changed));
        all.push(changed);
    }
}

#[test]
fn threads_pack_once() {
    let (packer, table) = (Packer::default(), table());
    let graphs: Vec<_> = (0..4).map(|seed| graph(&weights(2 * seed + 1))).collect();
    let all: Vec<Arc<Packed>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|i| {
                let (packer, graph) = (&packer, &graphs[i % 4]);
                scope.spawn(move || packer.load(table, &in_memory(), graph).0)
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(packer.packed.into_inner(), 4);
    for (i, packed) in all.iter().enumerate() {
        assert!(Arc::ptr_eq(packed, &all[i % 4]));
    }
}

#[test]
fn failures_are_not_shared() {
    let table = table();
    let graph = graph(&weights(3));
    let session = Session::with_table(table, &in_memory(), &graph, b"");
    let key = Key::of_node("backwards", &graph, &graph.nodes[0]);
    let error = session.get_or_pack(&key, 10, |_| Err(Error::new(ET_ERROR_INTERNAL, "no"))).unwrap_err();
    assert_eq!(error.message, "no");
    let error = session.get_or_pack(&key, usize::MAX / 2, |_| Ok(())).unwrap_err();
    assert!(error.message.contains("memory"), "{error}");
    let ten = session.get_or_pack(&key, 10, |_| Ok(())).unwrap();
    let twenty = session.get_or_pack(&key, 20, |_| Ok(())).unwrap();
    assert_eq!(((*ten).as_ref().len(), (*twenty).as_ref().len()), (10, 20), "nobody gets another size");
}

#[test]
fn a_folder_keeps_weights_for_other_processes() {
    let folder = tempfile::tempdir().unwrap();
    let packer = Packer::default();
    let settings = on_disk(folder.path());
    let graph = graph(&weights(3));
    let (cold, packed) = packer.load(table(), &settings, &graph);
    assert!(packed && !cold.is_mapped());
    // A table of its own stands for another process.
    let other = table();
    let (warm, packed) = packer.load(other, &settings, &graph);
    assert!(!packed && warm.is_mapped());
    let (again, packed) = packer.load(other, &settings, &graph);
    assert!(!packed && Arc::ptr_eq(&again, &warm));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    // Another configuration, and other contents.
    let session = Session::with_table(table(), &settings, &graph, b"other");
    assert!(!packer.get(&session, &graph).unwrap().is_mapped());
    assert!(session.finish().is_saved());
    assert!(packer.load(table(), &settings, &self::graph(&weights(5))).1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn a_file_gains_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let settings = on_disk(folder.path());
    let graph = graph(&weights(3));
    let load = |packer: &str| {
        let mut packed = false;
        let session = Session::with_table(table(), &settings, &graph, b"");
        let key = Key::of_node(packer, &graph, &graph.nodes[0]);
        session
            .get_or_pack(&key, 100, |_| {
                packed = true;
                Ok(())
            })
            .unwrap();
        assert!(session.finish().is_saved());
        packed
    };
    assert!(load("a") && load("b"));
    assert!(!load("a") && !load("b"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn weights_that_are_there_reach_a_folder_that_lacks_them() {
    let folder = tempfile::tempdir().unwrap();
    let (packer, table) = (Packer::default(), table());
    let graph = graph(&weights(3));
    let (_alive, _) = packer.load(table, &in_memory(), &graph);
    let (_, packed) = packer.load(table, &on_disk(folder.path()), &graph);
    assert!(!packed);
    assert!(packer.load(self::table(), &on_disk(folder.path()), &graph).0.is_mapped());
}

/// The one file with this ending.
fn file(folder: &Path, ending: &str) -> std::path::PathBuf {
    let mut all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    all.find(|path| path.extension().is_some_and(|e| e == ending)).unwrap()
}

#[test]
fn damaged_files_are_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let packer = Packer::default();
    let settings = on_disk(folder.path());
    let graph = graph(&weights(3));
    packer.load(table(), &settings, &graph);
    let path = file(folder.path(), "pack");
    let whole = fs::read(&path).unwrap();
    let damages: [fn(&mut Vec<u8>); 6] = [
        |bytes| bytes[3] ^= 1,
        |bytes| bytes[8] = 9,
        |bytes| bytes[100] ^= 16,
        |bytes| bytes[9000] ^= 128,
        |bytes| bytes.truncate(5000),
        Vec::clear,
    ];
    for (i, damage) in damages.into_iter().enumerate() {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        assert!(packer.load(table(), &settings, &graph).1, "damage {i} is found");
        assert!(!packer.load(table(), &settings, &graph).1, "damage {i} is repaired");
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn files_that_did_not_change_are_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (packer, settings) = (Packer::default(), on_disk(folder.path()));
    let source = tempfile::NamedTempFile::new().unwrap();
    let map = |seed| -> Arc<dyn AsRef<[u8]> + Send + Sync> {
        let bytes = weights(seed);
        fs::write(source.path(), (*bytes).as_ref()).unwrap();
        std::thread::sleep(Duration::from_millis(2200));
        // SAFETY: the file is replaced as a whole, with as many bytes, while nobody reads the mapping.
        Arc::new(unsafe { memmap2::Mmap::map(source.as_file()) }.unwrap())
    };
    let graph = graph(&map(3));
    assert!(packer.load(table(), &settings, &graph).1);
    let reference = file(folder.path(), "ref");
    assert!(packer.load(table(), &settings, &graph).0.is_mapped());
    // It is the reference that leads to the weights: what it says is believed.
    let pack = file(folder.path(), "pack");
    let name: [u8; 32] = fs::read(&reference).unwrap()[16..48].try_into().unwrap();
    let source_of_graph = Digest::from_bytes(name);
    Folder::new(folder.path())
        .write_reference(source_of_graph, &Reference { graph: Digest::of(b"elsewhere"), whole: None })
        .unwrap();
    let (warm, packed) = packer.load(table(), &settings, &graph);
    assert!(!packed && warm.is_mapped(), "one that leads nowhere does no harm");
    drop(warm);
    fs::remove_file(&reference).unwrap();
    assert!(packer.load(table(), &settings, &graph).0.is_mapped());
    assert!(reference.exists(), "and is written again");
    fs::remove_file(&pack).unwrap();
    assert!(packer.load(table(), &settings, &graph).1);

    // The same file with other weights: nothing of the above is theirs.
    let changed = self::graph(&map(5));
    assert!(packer.load(table(), &settings, &changed).1);
    assert!(!packer.load(table(), &settings, &changed).1);
}

#[test]
fn files_are_known_to_be_whole_until_they_change() {
    let folder = tempfile::tempdir().unwrap();
    let (packer, settings) = (Packer::default(), on_disk(folder.path()));
    let source = tempfile::NamedTempFile::new().unwrap();
    fs::write(source.path(), (*weights(3)).as_ref()).unwrap();
    let settle = || std::thread::sleep(Duration::from_millis(2200));
    settle();
    // SAFETY: nobody changes the file.
    let graph = graph(&(Arc::new(unsafe { memmap2::Mmap::map(source.as_file()) }.unwrap()) as _));
    assert!(packer.load(table(), &settings, &graph).1);
    let reference = file(folder.path(), "ref");
    let known = || fs::read(&reference).unwrap()[80..112] != [0; 32];
    assert!(!known(), "nobody has read the new file yet");
    assert!(!packer.load(table(), &settings, &graph).1);
    assert!(!known(), "it was changed too lately");
    settle();
    assert!(!packer.load(table(), &settings, &graph).1);
    assert!(known());
    let note = fs::read(&reference).unwrap();
    assert!(!packer.load(table(), &settings, &graph).1);
    assert_eq!(fs::read(&reference).unwrap(), note);

    // Damage to what is no longer read shows as a change of the file.
    let pack = file(folder.path(), "pack");
    let mut bytes = fs::read(&pack).unwrap();
    bytes[9000] ^= 1;
    fs::write(&pack, bytes).unwrap();
    settle();
    assert!(packer.load(table(), &settings, &graph).1, "it is found, and packed again");
    assert!(!known());
}

#[test]
fn what_could_not_be_saved_can_be_saved_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("folder");
    fs::write(&path, "in the way").unwrap();
    let packer = Packer::default();
    let graph = graph(&weights(3));
    let session = Session::with_table(table(), &on_disk(&path), &graph, b"configuration");
    packer.get(&session, &graph).unwrap();
    let kept = session.finish();
    assert!(!kept.is_saved());
    let error = save_all().unwrap_err();
    assert!(error.message.contains(&*path.to_string_lossy()), "{error}");
    fs::remove_file(&path).unwrap();
    save_all().unwrap();
    assert!(kept.is_saved());
    assert!(!packer.load(table(), &on_disk(&path), &graph).1);
    drop(kept);
    save_all().unwrap();
}
