package transfer

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kind of a text: a type that it could have besides text.
type kind uint8

const (
	kindText kind = iota
	kindBlank
	kindNumber
	kindDate
)

func kindOf(s string) kind {
	s = strings.TrimSpace(s)
	switch strings.ToLower(s) {
	case "", "na", "n/a", "nan", "null", "none", "-", "?":
		return kindBlank
	case "true", "false":
		return kindNumber
	}
	digits, others := 0, 0
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case strings.ContainsRune("+-.,%$€£ ", r):
		case strings.ContainsRune("eE", r) && digits > 0:
		case strings.ContainsRune("/:TZ", r):
			others++
		default:
			if unicode.IsLetter(r) && monthIn(s) && digits > 0 {
				return kindDate
			}
			return kindText
		}
	}
	switch {
	case digits == 0:
		return kindText
	case others > 0 || strings.Count(s, "-") > 1:
		return kindDate
	}
	return kindNumber
}

// monthIn reports whether a short text names a month, as 25-Jan-2024 does.
func monthIn(s string) bool {
	if len(s) > 24 {
		return false
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !strings.Contains(" jan feb mar apr may jun jul aug sep oct nov dec january february march april june july august september october november december am pm utc gmt t z ", " "+strings.ToLower(word)+" ") {
			return false
		}
	}
	return true
}

// isIdentifier reports whether a text is a name as programs have them.
func isIdentifier(s string) bool {
	for i, r := range s {
		if !unicode.IsLetter(r) && r != '_' && (i == 0 || !unicode.IsDigit(r) && r != '-' && r != '.') {
			return false
		}
	}
	return s != ""
}

func isYear(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && len(s) == 4 && n >= 1800 && n < 2200
}

// shapeOf replaces digits by 0 and letters by a.
func shapeOf(s string) string {
	if len(s) > 64 {
		return "*"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '0'
		case unicode.IsLetter(r):
			return 'a'
		case r == utf8.RuneError:
			return '?'
		}
		return r
	}, s)
}

// withPoint is a number with a decimal comma, and perhaps points between thousands, as
// 1234.5; ok is false if the text is not one.
func withPoint(s string) (plain string, ok bool) {
	whole, fraction, cut := strings.Cut(s, ",")
	if !cut && !strings.Contains(whole, ".") || strings.ContainsAny(fraction, ",.") {
		return s, false
	}
	groups := strings.Split(whole, ".")
	for i, g := range groups {
		if i == 0 {
			g = strings.TrimLeft(g, "+-")
		}
		if i > 0 && len(g) != 3 || len(groups) > 1 && i == 0 && (len(g) == 0 || len(g) > 3) || !isDigits(g) && (len(groups) > 1 || g != "") {
			return s, false
		}
	}
	if plain = strings.Join(groups, ""); cut {
		plain += "." + fraction
	}
	return plain, true
}
