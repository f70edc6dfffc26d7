//! The JSON of a result without the detail of its runs.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::failure::Failure;

/// Members of an object in their order, the values as they are written.
type Members<'a> = IndexMap<String, &'a RawValue>;

/// A value of a result.
#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    AsWritten(&'a RawValue),
    Runs(Vec<Members<'a>>),
}

/// Removes the detail of the runs from the JSON of a result, and adds `verdict` if there is one;
/// everything else stays as it is written.
///
/// # Errors
/// If `json` is not a result.
pub fn without_detail(json: &str, verdict: Option<&str>) -> Result<String, Failure> {
    rewrite(json, verdict).map_err(|error| {
        let hint = "expected what `penstock compare --json` prints";
        Failure::wrong(format!("this is no result: {error}"), hint)
    })
}

fn rewrite(json: &str, verdict: Option<&str>) -> Result<String, serde_json::Error> {
    let mut members: Members<'_> = serde_json::from_str(json)?;
    if let Some(verdict) = verdict {
        members.insert("verdict".into(), serde_json::from_str(verdict)?);
    }
    let mut parts = IndexMap::new();
    for (name, value) in members {
        let part =
            if name == "runs" { runs_without_detail(value)? } else { Part::AsWritten(value) };
        parts.insert(name, part);
    }
    serde_json::to_string_pretty(&parts)
}

fn runs_without_detail(runs: &RawValue) -> Result<Part<'_>, serde_json::Error> {
    let mut runs: Vec<Members<'_>> = serde_json::from_str(runs.get())?;
    for run in &mut runs {
        run.shift_remove("detail");
    }
    Ok(Part::Runs(runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_detail_goes() {
        let detail = r#",
      "detail": {
        "window_s": 1e-7,
        "classes": [
          {}
        ]
      }"#;
        let text = r#"{
  "z": 1.0e+2,
  "runs": [
    {
      "policy": "\u0041 {",
      "classes": []DETAIL
    },
    {
      "b": {
        "detail": 1
      }DETAIL
    }
  ],
  "a": []
}"#;
        let plain = text.replace("DETAIL", "");
        assert_eq!(without_detail(&text.replace("DETAIL", detail), None).unwrap(), plain);
        assert_eq!(without_detail(&plain, None).unwrap(), plain);
    }

    #[test]
    fn a_verdict_comes_last_and_once() {
        let with = |text: &str, verdict| without_detail(text, Some(verdict)).unwrap();
        let first = with(r#"{"runs": []}"#, r#"{"best": 1}"#);
        assert_eq!(first, "{\n  \"runs\": [],\n  \"verdict\": {\"best\": 1}\n}");
        assert_eq!(with(&first, "2"), "{\n  \"runs\": [],\n  \"verdict\": 2\n}");
    }

    #[test]
    fn what_is_no_result_is_wrong_input() {
        for text in ["", "[]", "{\"runs\": 1}", "{\"runs\": [1]}"] {
            let message = without_detail(text, None).unwrap_err().to_string();
            assert!(message.starts_with("error: this is no result: "), "{message}");
        }
    }
}
