// Package ql is the statement language of the shell: [Parse] makes a typed
// statement of a text, [Print] makes the canonical text of a statement, and
// [Runner] runs one against a [query.DB], or a [Database] over the network, and
// hands back a typed result. It prints nothing and reads no files.
//
// [NewReader] cuts a script of any length into statements. The words of the language,
// and how names, keys and values are quoted, are in query/ql/lex.
package ql
