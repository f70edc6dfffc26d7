//! Files: one or several, on devices like that of the job or on others.

use super::{Draw, Medium};

/// The files of a job.
pub(super) struct Files {
    /// Their sections.
    pub(super) text: String,
    /// Their names, and the number of files with each.
    names: Vec<(String, u64)>,
    /// Bytes of the smallest.
    pub(super) size: u64,
}

impl Files {
    /// Draws files on `medium`.
    pub(super) fn drawn(draw: &mut Draw<'_>, medium: &Medium) -> Self {
        let mut files = Self { text: String::new(), names: Vec::new(), size: medium.capacity };
        for number in 0..draw.pick(&[1, 1, 2]) {
            let (name, count) = (format!("f{number}"), draw.pick(&[2, 1, 3]));
            let size = medium.capacity / draw.pick(&[2, 1, 3]);
            let at = draw.between(0, medium.capacity - size) / 512 * 512;
            files.text += &format!(
                "[[file]]\nname = \"{name}\"\ncount = {count}\nsize = \"{size}B\"\nat = \"{at}B\"\n"
            );
            // These devices are larger than any drawn device.
            if draw.one_in(4) {
                let other = draw.pick(&["flash", "hdd-7200"]);
                files.text += &format!("on = {{ {} = \"{other}\" }}\n", draw.between(0, count - 1));
            }
            files.size = files.size.min(size);
            files.names.push((name, count));
        }
        files
    }

    /// Returns the lines of an agent about its files and copies.
    pub(super) fn of_agent(&self, draw: &mut Draw<'_>) -> String {
        let (name, count) = &self.names[draw.between(0, self.names.len() as u64 - 1) as usize];
        let mut text = if draw.one_in(3) {
            format!("file = \"{name}.{}\"\n", draw.between(0, count - 1))
        } else {
            format!("file = [\"{name}\"]\n")
        };
        if draw.one_in(2) {
            text += &format!("copies = {}\n", draw.between(1, 4));
            text += draw.pick(&["", "share = \"slices\"\n"]);
        }
        text
    }
}
