// Package lex is the words of the statement language. A [Reader] cuts a script of
// any length into statements, [Tokens] cuts a statement into tokens, and [Complete]
// says whether a text may be run as it stands or needs another line. A [Literal] and
// a [Time] are what a word stands for.
//
// The Quote functions write keys, qualifiers and values as words of the language.
// Their results have no control characters and read back as the same key, qualifier
// or value.
package lex
