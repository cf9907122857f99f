// Package lex reads the words of the statement language. A [Reader] cuts a script of
// any length into statements, [Tokens] cuts a statement into tokens, and [Complete]
// says whether a text can run as it is or needs another line. [Literal] and [Time] are
// the values of words.
//
// The Quote functions write keys, qualifiers and values as words of the language. Their
// results have no control characters, and parsing them gives the same key, qualifier or
// value.
package lex
