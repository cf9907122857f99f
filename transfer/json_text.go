package transfer

import (
	"encoding/json"
	"strings"
)

// A scanner reads the members of an object that is known to be well-formed.
type scanner struct {
	text string
	pos  int // after the opening brace, then after each member
}

// member reads the next name and its colon; false at the end of the object.
func (s *scanner) member() (name string, ok bool) {
	s.space()
	if s.text[s.pos] == ',' {
		s.pos++
		s.space()
	}
	if s.text[s.pos] == '}' {
		return "", false
	}
	name, _ = s.str()
	s.space()
	s.pos++ // the colon
	s.space()
	return name, true
}

// str reads a string; ok is false if an escape in it is not a character.
func (s *scanner) str() (text string, ok bool) {
	start := s.pos
	s.skip()
	raw := s.text[start:s.pos]
	if !strings.Contains(raw, `\`) {
		return raw[1 : len(raw)-1], true
	}
	if err := json.Unmarshal([]byte(raw), &text); err != nil {
		return raw, false
	}
	const replacement = "\uFFFD" // encoding/json puts it for half a pair
	lost := strings.Contains(text, replacement) && !strings.Contains(raw, replacement) && !strings.Contains(strings.ToLower(raw), `\ufffd`)
	return text, !lost
}

func (s *scanner) skip() {
	depth := 0
	for {
		switch s.text[s.pos] {
		case '"':
			s.pos++
			for s.text[s.pos] != '"' {
				if s.text[s.pos] == '\\' {
					s.pos++
				}
				s.pos++
			}
			s.pos++
		case '{', '[':
			depth++
			s.pos++
		case '}', ']':
			depth--
			s.pos++
		case ' ', '\t', '\r', '\n', ',', ':':
			s.pos++
		default:
			for !strings.ContainsRune(" \t\r\n,:]}", rune(s.text[s.pos])) {
				s.pos++
			}
		}
		if depth == 0 {
			return
		}
	}
}

func (s *scanner) space() {
	for strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
}

// eachMember calls fn with the members of an object.
func eachMember(raw string, fn func(name, value string)) {
	for s := (scanner{raw, 1}); ; {
		name, ok := s.member()
		if !ok {
			return
		}
		start := s.pos
		s.skip()
		fn(name, s.text[start:s.pos])
	}
}

// eachElement calls fn with the elements of a list.
func eachElement(raw string, fn func(value string)) {
	for s := (scanner{raw, 1}); ; {
		s.space()
		if s.text[s.pos] == ',' {
			s.pos++
			s.space()
		}
		if s.text[s.pos] == ']' {
			return
		}
		start := s.pos
		s.skip()
		fn(s.text[start:s.pos])
	}
}
