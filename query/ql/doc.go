// Package ql is the statement language of the shell: [Parse] makes a typed statement
// of a text, and [Print] makes the canonical text of a statement. [NewReader] cuts a
// script of any length into statements.
//
// The words of the language, and how names, keys and values are quoted, are in
// query/ql/lex. A statement is run by query/ql/exec.
package ql
