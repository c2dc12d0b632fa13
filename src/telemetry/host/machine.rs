//! What does not change of the host.

use super::cpu::parse_count;
use super::kernel_file::Root;
use super::memory::parse_meminfo;
use crate::telemetry::Machine;

/// Reads the host; GPUs are not looked at.
pub(super) fn machine(root: &Root) -> Machine {
    let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let parsed = |path: &str| root.file(path).text().ok().map(std::borrow::Cow::into_owned);
    Machine {
        hostname: Some(hostname).filter(|name| !name.is_empty()),
        cpu: parsed("/proc/cpuinfo").and_then(|text| parse_cpu_model(&text)),
        cpu_count: parsed("/proc/stat").and_then(|text| parse_count(&text)),
        memory_total_bytes: parsed("/proc/meminfo").and_then(|text| parse_meminfo(&text).total),
        ..Machine::default()
    }
}

fn parse_cpu_model(cpuinfo: &str) -> Option<String> {
    // x86 and RISC-V write `model name`, POWER `cpu`, some Arm boards `Model`; Arm servers name no model here.
    let keys = ["model name", "cpu", "Model"];
    let value_of = |key: &str| {
        cpuinfo.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == key)
    };
    let (_, model) = keys.iter().find_map(|key| value_of(key))?;
    // Some models are padded with spaces on the inside.
    let model = model.split_whitespace().collect::<Vec<_>>().join(" ");
    (!model.is_empty()).then_some(model)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_cpu_model_is_found_and_tidied() {
        let x86 = "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R)   Platinum 8480C \n";
        assert_eq!(parse_cpu_model(x86).as_deref(), Some("Intel(R) Xeon(R) Platinum 8480C"));
        assert_eq!(
            parse_cpu_model("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n").as_deref(),
            Some("POWER9, altivec supported")
        );
        assert_eq!(parse_cpu_model("processor\t: 0\nCPU part\t: 0xd4f\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "(model name|cpu|Model|:| |\n|\\PC){0,30}", bytes in any::<Vec<u8>>()) {
            let _ = parse_cpu_model(&text);
            let _ = parse_cpu_model(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn what_is_written_is_read(name in "[A-Za-z0-9()@.]{1,9}( [A-Za-z0-9()@.:]{1,9}){0,4}") {
            let text = format!("processor\t: 0\nmodel name\t: {name}\n");
            prop_assert_eq!(parse_cpu_model(&text), Some(name));
        }
    }
}
