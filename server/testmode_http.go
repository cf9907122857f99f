package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// pages adds the controls:
//
//	GET    /test         the clock and the faults
//	POST   /test/reset   back to the start
//	PUT    /test/clock   {"set": "2024-07-04T12:00:00Z"}, {"advance": "1h"} or {"run": true}
//	PUT    /test/faults  a list of faults; an empty list ends them
//
// They take no calls from pages of other origins.
func (m *TestMode) pages(mux *http.ServeMux) {
	if m == nil {
		return
	}
	mux.HandleFunc("GET /test", func(w http.ResponseWriter, r *http.Request) { m.show(w) })
	m.handle(mux, "POST /test/reset", func(r *http.Request, body []byte) error {
		if len(body) > 0 {
			return errors.New("a reset has no body")
		}
		return m.Reset(context.WithoutCancel(r.Context()))
	})
	m.handle(mux, "PUT /test/clock", func(_ *http.Request, body []byte) error { return m.setClock(body) })
	m.handle(mux, "PUT /test/faults", func(_ *http.Request, body []byte) error {
		faults, err := readFaults(body)
		if err != nil {
			return err
		}
		return m.SetFaults(faults...)
	})
}

// readFaults reads a list of faults. A rate that is there and 0 asks for a fault that
// strikes no call; in a Fault it would mean every call.
func readFaults(body []byte) ([]Fault, error) {
	var given []struct {
		Fault
		Rate *float64 `json:"rate"`
	}
	if err := strictly(body, &given); err != nil {
		return nil, err
	}
	faults := make([]Fault, len(given))
	for i, g := range given {
		faults[i] = g.Fault
		if g.Rate == nil {
			continue
		}
		if faults[i].Rate = *g.Rate; *g.Rate == 0 {
			return nil, fmt.Errorf("rate 0 of %s strikes no call; leave the fault out, or the rate for every call", g.Method)
		}
	}
	return faults, nil
}

// maxControl is the size of a control's body.
const maxControl = 1 << 20

func (m *TestMode) handle(mux *http.ServeMux, pattern string, do func(r *http.Request, body []byte) error) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
			answerJSON(w, http.StatusForbidden, map[string]string{"error": "pages of a browser may not control the server"})
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControl))
		if err == nil {
			err = do(r, body)
		}
		if err != nil {
			answerJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		m.show(w)
	})
}

func (m *TestMode) setClock(body []byte) error {
	var want struct {
		Set     *time.Time `json:"set"`
		Advance *Delay     `json:"advance"`
		Run     bool       `json:"run"`
	}
	if err := strictly(body, &want); err != nil {
		return err
	}
	switch {
	case want.Set != nil && want.Advance == nil && !want.Run:
		m.Freeze(*want.Set)
	case want.Set == nil && want.Advance != nil && !want.Run:
		m.Advance(time.Duration(*want.Advance))
	case want.Set == nil && want.Advance == nil && want.Run:
		m.Run()
	default:
		return errors.New(`want one of {"set": "2024-07-04T12:00:00Z"}, {"advance": "1h"} and {"run": true}`)
	}
	return nil
}

// strictly decodes JSON without unknown fields and without anything after it.
func strictly(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New("the body is not as expected: " + err.Error())
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("the body has something after the value")
	}
	return nil
}

// show answers with the state of the controls.
func (m *TestMode) show(w http.ResponseWriter) {
	m.mu.Lock()
	state := map[string]any{"now": m.now().UTC(), "frozen": m.frozen != nil, "seed": m.seed, "faults": append([]Fault{}, m.faults...), "struck": append([]uint64{}, m.struck...)}
	m.mu.Unlock()
	answerJSON(w, http.StatusOK, state)
}

func answerJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // fails if the client is gone
}
