//! Pages in a real browser: nothing fails, nothing is fetched, every plot is drawn, nothing is wider than the screen.
//!
//! Needs Chromium on the path; without it the tests say so on stderr and pass.

mod samples;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use samples::{Table, bench, credit, digits};
use thickset::Seed;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::audit::result::SplitRecord;
use thickset::audit::{self, AuditConfig, AuditTarget, Event, NamedModel, Outcome, run};
use thickset::data::{OpenOptions, open};
use thickset::model::{MlpConfig, Model, ModelConfig};

/// Widths of a phone and of a desk.
const WIDTHS: [u64; 3] = [360, 390, 1280];

/// Milliseconds of the page's own clock; it does not run while nothing is to be done.
const BUDGET: &str = "--virtual-time-budget=20000";

/// The policy of the page, which forbids the probe.
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">";

/// Asks the page what it looks like, and tells the page around it.
const PROBE: &str = r"<script>
const errors = [];
addEventListener('error', event => errors.push(event.message || 'a resource: ' + event.target.tagName), true);
addEventListener('load', () => {
  const plots = [...document.querySelectorAll('svg')];
  const drawn = plots.filter(plot => [...plot.querySelectorAll('path, rect')].some(mark => {
    const box = mark.getBBox();
    const style = getComputedStyle(mark);
    return box.width + box.height > 0 && style.visibility === 'visible' && (style.fill !== 'none' || style.stroke !== 'none');
  }));
  const inBox = element => element.closest('.scroll, .skip, .unseen');
  const wide = [...document.body.querySelectorAll('*')]
    .filter(element => !inBox(element) && element.getBoundingClientRect().right > innerWidth + 0.5);
  const spills = [...document.querySelectorAll('svg text')].filter(text => {
    const box = text.getBoundingClientRect(), plot = text.closest('svg').getBoundingClientRect();
    return plot.width > 0 && (box.right > plot.right + 1 || box.left < plot.left - 1);
  });
  const probe = parent.document.createElement('pre');
  probe.className = 'probe';
  probe.textContent = JSON.stringify({
    inner: innerWidth,
    scroll: document.documentElement.scrollWidth,
    plots: plots.length,
    drawn: drawn.length,
    wide: wide.slice(0, 5).map(element => element.tagName + ' ' + element.getAttribute('class')),
    broken: [...document.images].filter(image => !(image.complete && image.naturalWidth > 0)).length,
    spills: spills.slice(0, 5).map(text => text.textContent),
    fetched: performance.getEntriesByType('resource').map(entry => entry.name).filter(name => !name.startsWith('data:')),
    errors,
  });
  parent.document.body.append(probe);
});
</script>";

fn browser() -> Option<PathBuf> {
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ];
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

/// Runs the browser on a file and gives back the page as it came to be, and what the browser logged. Every request would go
/// to a port where nobody answers.
fn load(browser: &Path, folder: &Path, page: &str) -> (String, String) {
    let file = folder.join("page.html");
    std::fs::write(&file, page).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--proxy-server=127.0.0.1:9",
            "--proxy-bypass-list=<-loopback>",
        ])
        .args([
            "--enable-logging=stderr",
            "--v=0",
            BUDGET,
            "--window-size=1400,1000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What a page looks like at one width.
#[derive(Debug)]
struct Look {
    width: u64,
    answer: serde_json::Value,
}

/// Shows the page in frames of each width, for a window is never narrower than 500 pixels.
fn looks(browser: &Path, folder: &Path, page: &str) -> Vec<Look> {
    let probed = page
        .replace(POLICY, PROBE)
        .replace('&', "&amp;")
        .replace('"', "&quot;");
    let frame = |width| {
        format!(
            "<iframe srcdoc=\"{probed}\" style=\"border:0;width:{width}px;height:900px\"></iframe>"
        )
    };
    let frames = WIDTHS.map(frame).concat();
    let (dom, _) = load(
        browser,
        folder,
        &format!("<!DOCTYPE html><title>frames</title><body>{frames}</body>"),
    );
    let answers = dom.split("<pre class=\"probe\">").skip(1);
    let mut looks: Vec<Look> = answers
        .filter_map(|rest| rest.split("</pre>").next())
        .map(|text| {
            let text = text
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&");
            let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
            Look {
                width: answer["inner"].as_u64().unwrap(),
                answer,
            }
        })
        .collect();
    looks.sort_by_key(|look| look.width);
    looks
}

/// What is wrong with a page at a width; nothing, if all is well.
fn faults(look: &Look) -> Vec<String> {
    let answer = &look.answer;
    let mut faults = Vec::new();
    let mut expect = |is_well: bool, what: &str| {
        if !is_well {
            faults.push(format!("{what} at {} pixels: {answer}", look.width));
        }
    };
    expect(
        answer["scroll"].as_u64() <= Some(look.width),
        "wider than the screen",
    );
    for (list, what) in [
        ("wide", "an element sticks out"),
        ("spills", "a text leaves its plot"),
        ("fetched", "something was fetched"),
        ("errors", "an error"),
    ] {
        expect(answer[list].as_array().is_some_and(Vec::is_empty), what);
    }
    expect(answer["plots"] == answer["drawn"], "a plot is not drawn");
    expect(answer["broken"] == 0, "an image is broken");
    faults
}

/// What the browser's console said.
fn console(log: &str) -> Vec<&str> {
    log.lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect()
}

fn pages() -> Vec<(&'static str, String)> {
    let table = credit(&Table::default());
    let steady = credit(&Table {
        name: "a network with a name that is much longer than a phone is wide, as they come",
        shake: 0.05,
        ..Table::default()
    });
    let large = credit(&Table {
        rows: 5000,
        ..Table::default()
    });
    let mut hostile = credit(&Table::default());
    let name = "x".repeat(200) + "<script>throw 1</script>";
    hostile
        .data
        .features
        .iter_mut()
        .for_each(|feature| feature.push_str(&name));
    hostile.model.name = name;
    let audit = |audits: &[_]| thickset_report::audit(audits).unwrap();
    vec![
        ("one audit", audit(std::slice::from_ref(&table))),
        ("several audits", audit(&[table, steady, digits()])),
        ("many rows", audit(&[large])),
        ("hostile names", audit(&[hostile])),
        ("a bench", thickset_report::bench(&bench::table1()).unwrap()),
    ]
}

/// The page of a real audit of a fresh network on bundled data, a few rows of it.
fn audited(data: &str, model: ModelConfig) -> String {
    let dataset = open(data, &OpenOptions::default()).unwrap();
    let model = Model::fresh(
        model,
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(1),
    )
    .unwrap();
    let config = AuditConfig {
        suite: SuiteConfig {
            effort: Effort::Quick,
            ..SuiteConfig::default()
        },
        noise_draws: 2,
        worst: 3,
        ..AuditConfig::default()
    };
    let split = SplitRecord::default();
    let target = AuditTarget {
        model: NamedModel {
            model: &model,
            name: "fresh".to_owned(),
            file: "fresh.safetensors".to_owned(),
            sha256: "0".repeat(64),
            objective: None,
            training: Vec::new(),
        },
        data: data.to_owned(),
        rows: dataset.test().split_by(&split).first(12),
    };
    let plan = config.check(&dataset.schema).unwrap();
    let mut silent = |_: &Event<'_>| ControlFlow::Continue(());
    let outcome = run(&plan, &target, &audit::RunOptions::default(), &mut silent).unwrap();
    let Outcome::Done(audit) = outcome else {
        panic!("nobody stopped it")
    };
    thickset_report::audit(&[*audit]).unwrap()
}

/// The page of a real bench of one method on bundled data.
fn benched(id: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let options = thickset_papers::BenchOptions {
        datasets: vec!["breast-cancer".to_owned(), "adhd".to_owned()],
        methods: vec!["linear".to_owned(), "vanilla".to_owned()],
        seeds: Some(2),
        rows: Some(6),
        train_rows: Some(40),
        epochs: Some(1),
        ..thickset_papers::BenchOptions::new(folder.path())
    };
    let (bench, _) = thickset_papers::run(id, &options, &|_| {}).unwrap();
    thickset_report::bench(&bench).unwrap()
}

/// Pages of what really comes out, small.
fn real_pages() -> Vec<(&'static str, String)> {
    let network = || ModelConfig::Mlp(MlpConfig::default());
    vec![
        (
            "a real audit of a table",
            audited("breast-cancer", network()),
        ),
        ("a real audit of images", audited("digits", network())),
        ("a real table", benched("table6")),
        ("a real figure", benched("fig7")),
        ("a real simulation", benched("fig7-igr")),
    ]
}

/// Runs a test with a browser and a folder of its own, or says why not.
fn with_browser(test: impl FnOnce(&Path, &Path)) {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium, chromium-browser or google-chrome on the path");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    test(&browser, folder.path());
}

#[test]
fn pages_are_drawn_at_every_width_and_load_nothing() {
    with_browser(|browser, folder| {
        for (name, page) in pages().into_iter().chain(real_pages()) {
            assert!(page.contains(POLICY), "{name}");
            let (dom, log) = load(browser, folder, &page);
            assert!(dom.contains("</main>"), "{name}: {log}");
            assert!(console(&log).is_empty(), "{name}: {:?}", console(&log));
            let looks = looks(browser, folder, &page);
            assert_eq!(
                looks.iter().map(|look| look.width).collect::<Vec<_>>(),
                WIDTHS,
                "{name}"
            );
            // A bench may be a table alone.
            let is_plotted = page.contains("<svg");
            assert!(is_plotted || name == "a real table", "{name}: no plot");
            let faults: Vec<String> = looks.iter().flat_map(faults).collect();
            assert!(faults.is_empty(), "{name}: {faults:#?}");
        }
    });
}

#[test]
fn a_page_with_faults_is_found_out() {
    with_browser(|browser, folder| {
        let page = thickset_report::bench(&bench::table1()).unwrap();
        let broken = page.replace(
            "</main>",
            "<div style=\"width:3000px\">wide</div><img src=\"http://127.0.0.1:9/x.png\" alt=\"\"><script>missing()</script>\
             <svg viewBox=\"0 0 9 9\"><path d=\"\"/></svg></main>",
        );
        let (_, log) = load(browser, folder, &broken);
        assert!(!console(&log).is_empty(), "{log}");
        for look in looks(browser, folder, &broken) {
            let faults = faults(&look).join("\n");
            for what in [
                "wider",
                "sticks out",
                "was fetched",
                "an error",
                "not drawn",
                "broken",
            ] {
                assert!(faults.contains(what), "{what}: {faults}");
            }
        }
    });
}
