package console

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

// A callsPage is the calls that the person may see.
type callsPage struct {
	activity.Calls
	Problem string // why a call was not cancelled
}

// showCalls is the page of calls.
func showCalls(v *visit) error { return v.showCalls("") }

func (v *visit) showCalls(problem string) error {
	all, err := v.Calls(v.r.Context())
	if err != nil {
		return err
	}
	return v.show("calls", "Calls", callsPage{all, problem})
}

// cancelCall ends a call and shows the others.
func cancelCall(v *visit) error {
	id, err := strconv.ParseUint(v.r.FormValue("id"), 10, 64)
	if err != nil {
		return invalid("id is %s; want the number of a call", lex.QuoteText(v.r.FormValue("id")))
	}
	err = v.CancelCall(v.r.Context(), id)
	if query.KindOf(err) == query.KindNotFound {
		return v.showCalls(err.Error())
	}
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.r, "/calls", http.StatusSeeOther)
	return nil
}

// methodName is the name of a call's method, without its service.
func methodName(method string) string { return method[strings.LastIndexByte(method, '/')+1:] }
