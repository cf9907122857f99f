package rhino

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"
)

// MaxCorrelationID is the most bytes of a correlation id.
const MaxCorrelationID = 256

// An Envelope is a message with the name that its sender gave it. The reply to a request
// repeats its correlation id; replies may come in any order.
type Envelope struct {
	CorrelationID string
	Payload       Message
}

// An Error says what is wrong with a message. Its text is for the sender.
type Error struct {
	// CorrelationID is the message's, if Known: then the sender can be answered.
	CorrelationID string
	Known         bool
	Reason        string
}

func (e *Error) Error() string {
	return e.Reason
}

func invalid(format string, args ...any) error {
	return &Error{Reason: fmt.Sprintf(format, args...)}
}

// Encode is the text of a message. It fails for a payload that is not a message.
func Encode(e Envelope) ([]byte, error) {
	var payload any = e.Payload
	switch name := Name(e.Payload); {
	case name == "":
		return nil, invalid("%T is not a message", e.Payload)
	case !bares[name]:
		payload = map[string]any{name: e.Payload}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		CorrelationID string `json:"correlation_id"`
		Payload       any    `json:"payload"`
	}{e.CorrelationID, payload})
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// Decode reads the text of a message. Unknown messages and unknown fields are errors;
// all errors are of type [*Error].
func Decode(text []byte) (Envelope, error) {
	if !utf8.Valid(text) {
		return Envelope{}, invalid("the message is not UTF-8")
	}
	var e struct {
		CorrelationID *string         `json:"correlation_id"`
		Payload       json.RawMessage `json:"payload"`
	}
	if err := strict(text, &e); err != nil {
		return Envelope{}, invalid("the message is not an object with correlation_id and payload: %v", err)
	}
	switch {
	case e.CorrelationID == nil:
		return Envelope{}, invalid("the message has no correlation_id")
	case len(*e.CorrelationID) > MaxCorrelationID:
		return Envelope{}, invalid("the correlation_id has %d bytes; the limit is %d", len(*e.CorrelationID), MaxCorrelationID)
	}
	m, err := decodePayload(e.Payload)
	if err != nil {
		return Envelope{}, &Error{*e.CorrelationID, true, err.Error()}
	}
	return Envelope{*e.CorrelationID, m}, nil
}

func decodePayload(text json.RawMessage) (Message, error) {
	if bytes.HasPrefix(text, []byte(`"`)) {
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, err
		}
		if !bares[name] {
			return nil, invalid("the payload is %q, which is not a message without fields", short(name))
		}
		return Bare(name), nil
	}
	name, fields, err := onlyKey(text)
	if err != nil {
		return nil, invalid("the payload must be the name of a message, or an object with it as the only key: %v", err)
	}
	t, ok := structs[name]
	if !ok {
		return nil, invalid("there is no message %q", short(name))
	}
	m := reflect.New(t)
	if err := strict(fields, m.Interface()); err != nil {
		return nil, invalid("%s: %v", name, err)
	}
	return m.Elem().Interface(), nil
}

// onlyKey reads an object with one key.
func onlyKey(text []byte) (key string, value json.RawMessage, err error) {
	var object map[string]json.RawMessage
	if len(text) == 0 {
		return "", nil, invalid("it is missing")
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return "", nil, err
	}
	if len(object) != 1 {
		return "", nil, invalid("it has %d keys", len(object))
	}
	for key, value = range object {
	}
	return key, value, nil
}

// strict reads one JSON value without unknown fields.
func strict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return invalid("there is text after the end")
	}
	return nil
}

// short is a name from outside for an error.
func short(name string) string {
	const most = 64
	if len(name) <= most {
		return name
	}
	return name[:most] + "…"
}

// TokenHash stands for a token in servers: its SHA-256 in hexadecimal.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
