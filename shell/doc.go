// Package shell runs the statement language at a terminal and in scripts: it reads
// statements and session commands, runs them, and prints their results.
//
// A [Session] prints rows as they are read, in one of the formats that [Formats]
// lists, and never holds more of them than a screenful. In the formats for
// people (table, line, cbt, markdown) keys, columns and values are words of
// the language that can be typed back in; json and jsonl lose nothing of any
// value. No format lets a control character of the data reach a terminal.
//
// # The table format
//
// A scan that asks for one version of each column is shown as a grid, one line a row and
// one column a column, when the columns of its first rows fit the width. Everything else,
// and every get of a single row, is shown one line a cell: row, column, timestamp, value,
// with the row's key on its first line; a terminal too narrow for that goes without the
// timestamps. A text longer than its column is cut and ends in '…'. A later row with
// columns that the grid has no place for begins a new one.
package shell
