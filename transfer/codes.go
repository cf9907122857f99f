package transfer

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// A code is an encoding of bytes as text.
type code uint8

func (c code) encode(raw string) string {
	switch c {
	case hexCode:
		return hex.EncodeToString([]byte(raw))
	case base64Code:
		return base64.StdEncoding.EncodeToString([]byte(raw))
	}
	return raw
}

// decode decodes the text that encode made; problem says why it cannot.
func (c code) decode(text string) (raw, problem string) {
	var b []byte
	var err error
	switch c {
	case hexCode:
		if b, err = hex.DecodeString(text); err != nil {
			return "", quote(text) + " is not hexadecimal, as the name of the field says"
		}
	case base64Code:
		if b, err = base64.StdEncoding.DecodeString(text); err != nil {
			return "", quote(text) + " is not base64, as the name of the field says"
		}
	default:
		return text, ""
	}
	return string(b), ""
}

const (
	noCode code = iota // not encoded
	hexCode
	base64Code
)

// base64Suffix ends the name of a JSON member with base64.
const base64Suffix = "_b64"

// suffixes end the names of fields that have the encoding.
var suffixes = [...]string{hexCode: "_hex", base64Code: base64Suffix}

// codes are the encodings by name.
var codes = map[string]code{"": hexCode, "hex": hexCode, "base64": base64Code}

// codeOf returns the encoding that a field's name ends in.
func codeOf(name string) code {
	for c := hexCode; c <= base64Code; c++ {
		if strings.HasSuffix(name, suffixes[c]) {
			return c
		}
	}
	return noCode
}
