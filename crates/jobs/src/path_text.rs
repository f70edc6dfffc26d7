//! Paths as text and back, without loss: paths may have any bytes, and jobs, arguments and results are text.
//!
//! A byte that is not UTF-8 becomes a character for private use, `U+10FE80` for 0x80 to `U+10FEFF` for 0xff.
//! Programs get these characters nowhere: the bindings make of them what Python makes of such bytes, and
//! people see [`shown`], with `U+FFFD` in their place. A path that has such a character itself keeps it,
//! byte by byte.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::Serializer;

/// The character of byte 0, if it were not UTF-8.
const FIRST: u32 = 0x10_FE00;

/// Returns the character for a `byte` that is not UTF-8.
pub fn character(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).expect("a character for private use")
}

/// Returns the byte that `character` stands for, if it stands for one.
pub fn byte(character: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(character).checked_sub(FIRST)?).ok()?;
    (byte >= 0x80).then_some(byte)
}

/// Returns `path` as text that [`path`] makes the same path of.
pub fn text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for valid in chunk.valid().chars() {
            if byte(valid).is_some() {
                text.extend(valid.encode_utf8(&mut [0; 4]).bytes().map(character));
            } else {
                text.push(valid);
            }
        }
        text.extend(chunk.invalid().iter().copied().map(character));
    }
    text
}

/// Returns the path that `text` says.
pub fn path(text: &str) -> Cow<'_, Path> {
    if !text.contains(|character| byte(character).is_some()) {
        return Cow::Borrowed(Path::new(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(PathBuf::from(OsString::from_vec(bytes)))
}

/// Returns `text` for the eye.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| byte(character).is_some()) {
        return Cow::Borrowed(text);
    }
    text.replace(|character| byte(character).is_some(), "\u{fffd}").into()
}

/// Writes a path as [`text`].
///
/// # Errors
/// As `serializer` has.
pub fn serialize<S: Serializer>(path: impl AsRef<Path>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(path.as_ref()))
}

/// Writes a list of paths, each as [`text`].
///
/// # Errors
/// As `serializer` has.
pub fn serialize_all<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| text(path)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn any_bytes_come_back() {
        let cases: [&[u8]; 6] = [
            b"",
            b"plain/\xc3\xa9",
            b"odd-\xff\xe9-name",
            b"\x80/\xbf",
            b"cut \xf0\x9f\x98",
            "private \u{10fe80}\u{10feff}\u{10fe00}".as_bytes(),
        ];
        for bytes in cases {
            let original = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(path(&text(original)), original);
        }
        assert_eq!(text(Path::new("plain")), "plain");
        let odd = text(Path::new(OsStr::from_bytes(b"a\xff.toml")));
        assert_eq!(shown(&odd), "a\u{fffd}.toml");
        assert_eq!(shown("plain"), "plain");
    }
}
