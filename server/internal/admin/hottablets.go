package admin

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/heat"
)

// The bounds of ListHotTablets, as in Bigtable, and the size of a page that the request
// does not give. A client's clock may be ahead by mostAhead.
const (
	mostHotTime    = 48 * time.Hour
	usualHotTime   = 24 * time.Hour
	hotTabletsPage = 1000
	mostAhead      = time.Minute
)

// ListHotTablets lists the ranges of rows that took a large part of the accesses in ten
// minutes, the hottest first. The server is all clusters of an instance.
func (s *Admin) ListHotTablets(_ context.Context, req *adminpb.ListHotTabletsRequest) (*adminpb.ListHotTabletsResponse, error) {
	in, _, err := wire.ParseChild(req.GetParent(), "clusters", "a cluster")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	_, err = s.clusters.get(req.GetParent())
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	page, err := hotPageOf(req, time.Now())
	if err != nil {
		return nil, err
	}
	tablets := s.Heat.Tablets(func(table string) bool {
		_, ok := s.DB.LookupTable(table)
		return ok && s.Own.StoredTable(table).In == in
	}, time.Unix(0, page.Since), time.Unix(0, page.Until))
	resp := &adminpb.ListHotTabletsResponse{}
	for i := page.Offset; i < len(tablets); i++ {
		if len(resp.HotTablets) == page.Size {
			page.Offset = i
			resp.NextPageToken = page.token()
			break
		}
		resp.HotTablets = append(resp.HotTablets, s.hotTablet(req.GetParent(), tablets[i]))
	}
	return resp, nil
}

func (s *Admin) hotTablet(cluster string, t heat.Tablet) *adminpb.HotTablet {
	table := s.Own.StoredTable(t.Table)
	id := base64.RawURLEncoding.EncodeToString(strconv.AppendInt([]byte(t.Table+"/"+t.First+"/"), t.Start.Unix(), 10))
	return &adminpb.HotTablet{
		Name: cluster + "/hotTablets/" + id, TableName: table.String(),
		StartTime: timestamppb.New(t.Start), EndTime: timestamppb.New(t.End),
		StartKey: textOf(t.First), EndKey: textOf(t.Last), NodeCpuUsagePercent: float32(100 * t.Used),
	}
}

// textOf returns a row key as text. Keys in these messages are strings, so the bytes of
// a key that is not UTF-8 become \xNN.
func textOf(key string) string {
	if utf8.ValidString(key) {
		return key
	}
	quoted := strconv.Quote(key)
	return quoted[1 : len(quoted)-1]
}

// A hotPage is a place in the list of a request. Its times are nanoseconds.
type hotPage struct {
	Since, Until int64
	Size, Offset int
}

func (p hotPage) token() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Append(nil, p.Since, p.Until, p.Size, p.Offset))
}

// hotPageOf checks a request. A later page keeps the times and the size of the first one.
func hotPageOf(req *adminpb.ListHotTabletsRequest, now time.Time) (p hotPage, err error) {
	if err := checkPageSize(req.GetPageSize()); err != nil {
		return p, err
	}
	if token := req.GetPageToken(); token != "" {
		b, err := base64.RawURLEncoding.DecodeString(token)
		if err == nil {
			_, err = fmt.Sscan(string(b), &p.Since, &p.Until, &p.Size, &p.Offset)
		}
		if err != nil || p.Size <= 0 || p.Offset < 0 || p.token() != token {
			return p, wire.Invalid("page_token %q was not given out by this server", token)
		}
		if n := int(req.GetPageSize()); n != 0 && n != p.Size {
			return p, wire.Invalid("page_size is %d and was %d in the first request; it must stay the same", n, p.Size)
		}
		if t := req.GetStartTime(); t != nil && t.AsTime().UnixNano() != p.Since {
			return p, wire.Invalid("start_time is not that of the first request")
		}
		if t := req.GetEndTime(); t != nil && t.AsTime().UnixNano() != p.Until {
			return p, wire.Invalid("end_time is not that of the first request")
		}
		return p, nil
	}
	since, until, err := hotTimes(req, now)
	p = hotPage{Since: since.UnixNano(), Until: until.UnixNano(), Size: int(req.GetPageSize())}
	if p.Size == 0 {
		p.Size = hotTabletsPage
	}
	return p, err
}

// hotTimes returns the times of a request, by default the last day.
func hotTimes(req *adminpb.ListHotTabletsRequest, now time.Time) (since, until time.Time, err error) {
	until = now
	if t := req.GetEndTime(); t != nil {
		until = t.AsTime()
	}
	since = until.Add(-usualHotTime)
	if t := req.GetStartTime(); t != nil {
		since = t.AsTime()
	}
	switch {
	case !since.Before(until):
		err = wire.Invalid("start_time %s must be before end_time %s", since.Format(time.RFC3339), until.Format(time.RFC3339))
	case until.Sub(since) > mostHotTime:
		err = wire.Invalid("from start_time to end_time are %v; it may be up to 48 hours", until.Sub(since))
	case until.After(now.Add(mostAhead)):
		err = wire.Invalid("end_time %s is in the future", until.Format(time.RFC3339))
	case since.Before(now.Add(-heat.Kept)):
		err = wire.Invalid("start_time %s is more than 14 days ago", since.Format(time.RFC3339))
	}
	return since, until, err
}
