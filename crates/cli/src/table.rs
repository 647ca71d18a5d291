//! Tables as aligned text, cut to a terminal's width where there is one.

use std::io::IsTerminal;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A table. A heading that begins with `>` aligns its column to the right.
pub(crate) fn table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let wrap = std::io::stdout().is_terminal();
    table.set_content_arrangement(if wrap {
        ContentArrangement::Dynamic
    } else {
        ContentArrangement::Disabled
    });
    table.set_header(headings.map(|heading| heading.trim_start_matches('>')));
    for row in rows {
        table.add_row(row);
    }
    for (heading, column) in headings.iter().zip(table.column_iter_mut()) {
        column.set_padding((0, 2));
        if heading.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_have_no_tail() {
        let rows = [["worker".to_owned(), "7".into()], ["x".into(), "12,345".into()]];
        assert_eq!(table(["who", ">tokens"], rows), "who     tokens\nworker       7\nx       12,345");
    }
}
