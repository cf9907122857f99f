package transfer

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// A Dialect says how a CSV file is written. Unset fields are seen in the file's
// beginning.
type Dialect struct {
	// Separator stands between the fields of a line, up to 8 bytes; "": seen, as one of
	// , ; | and tab, or as a space, : or # between three fields or more if a header names
	// them, all lines have as many, and some column has only numbers or dates.
	Separator string
	// Quote is the character around fields with separators or line ends in them; "": seen,
	// None: quotes mean nothing. Within them it is doubled, or stands after a backslash.
	Quote string
	// Header is Yes if a line names the fields, and No if they have places only: #1 or
	// column1 is the first; "": seen.
	Header string
	// Skip is the number of lines before the header, or before the first line of data; 0:
	// seen, -1: no line.
	Skip int
	// Comment begins lines that are passed over; "": seen, None: no line is a comment.
	Comment string
	// Decimal is "," for numbers as in 1.234,5; "": "." as in 1234.5.
	Decimal string
	// Ragged lets lines have fewer fields than the header: the others are absent.
	Ragged bool

	backslash bool // a quote within a field stands after a backslash
}

// The values of a [Dialect] besides characters.
const (
	None = "none"
	Yes  = "yes"
	No   = "no"
)

// maxSeparator bounds a separator in bytes.
const maxSeparator = 8

// check reports a dialect that no file can have.
func (d *Dialect) check() error {
	switch {
	case len(d.Separator) > maxSeparator || strings.ContainsAny(d.Separator, "\r\n"):
		return specErrorf("sep", "%s separates no fields; it is 1 to %d bytes without line ends, as ';'", quote(d.Separator), maxSeparator)
	case d.Quote != "" && d.Quote != None && (len(d.Quote) != 1 || d.Quote[0] >= utf8.RuneSelf || strings.ContainsAny(d.Quote, "\r\n\\")):
		return specErrorf("quote", "%s is no quote; it is one character of ASCII, or none", quote(d.Quote))
	case d.Quote != "" && d.Quote != None && strings.Contains(d.Separator, d.Quote):
		return specErrorf("quote", "%s is in the separator too", quote(d.Quote))
	case d.Header != "" && d.Header != Yes && d.Header != No:
		return specErrorf("header", "%s is neither yes nor no", quote(d.Header))
	case d.Skip < -1:
		return specErrorf("skip", "%d is negative", d.Skip)
	case d.Comment != "" && strings.ContainsAny(d.Comment, "\r\n"):
		return specErrorf("comment", "%s cannot begin a line", quote(d.Comment))
	case d.Decimal != "" && d.Decimal != "," && d.Decimal != ".":
		return specErrorf("decimal", "%s is neither ',' nor '.'", quote(d.Decimal))
	}
	return nil
}

// quoteByte is the quote; 0: quotes mean nothing.
func (d *Dialect) quoteByte() byte {
	if d.Quote == None {
		return 0
	}
	return cmp.Or(d.Quote, `"`)[0]
}

func (d *Dialect) separator() string { return cmp.Or(d.Separator, ",") }

// comment begins the lines to pass over; "": no line.
func (d *Dialect) comment() string {
	if d.Comment == None {
		return ""
	}
	return d.Comment
}
