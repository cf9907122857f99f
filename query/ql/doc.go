// Package ql is the statement language of the shell: [Parse] makes a typed
// statement of a text, [Print] makes the canonical text of a statement, and
// [Runner] runs one against a [query.DB], or a [Database] over the network, and
// hands back a typed result. It prints nothing and reads no files.
//
// A [Reader] cuts a script of any length into statements; [Complete] says
// whether a text may be run as it stands or needs another line.
//
// The Quote functions write keys, qualifiers and values as words of the
// language: what they return has no control characters and reads back as what
// it was made from.
package ql
