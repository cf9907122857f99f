package bigtable

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"golang.org/x/oauth2/google"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/oauth"
	"google.golang.org/grpc/metadata"

	"github.com/smolwc/smolwc/api/wire"
)

// Scheme begins the URL of an instance.
const Scheme = "bigtable"

// A Place is an instance of Bigtable, and how it is reached.
type Place struct {
	Project, Instance string
	AppProfile        string // that calls name; "": the default one
	// Endpoint is HOST:PORT of an emulator or of smolwc, without TLS and Google's
	// credentials; "": Google.
	Endpoint string
	Token    string // that is sent to the endpoint, or ""
}

// ParseURL reads bigtable://PROJECT/INSTANCE, with the parameters app_profile and endpoint.
func ParseURL(text string) (Place, error) {
	rest, ok := strings.CutPrefix(text, Scheme+"://")
	name, params, _ := strings.Cut(rest, "?")
	var p Place
	p.Project, p.Instance, _ = strings.Cut(strings.TrimSuffix(name, "/"), "/")
	if !ok || p.Project == "" || p.Instance == "" || strings.Contains(p.Instance, "/") {
		return p, fmt.Errorf("%q is not bigtable://PROJECT/INSTANCE", text)
	}
	given, err := url.ParseQuery(params)
	if err != nil {
		return p, fmt.Errorf("%q: its parameters cannot be read: %w", text, err)
	}
	for param, values := range given {
		switch param {
		case "app_profile":
			p.AppProfile = values[0]
		case "endpoint":
			p.Endpoint = values[0]
			if _, _, err := net.SplitHostPort(p.Endpoint); err != nil {
				return p, fmt.Errorf("%q: the endpoint is %q; want HOST:PORT, as in 127.0.0.1:8086", text, p.Endpoint)
			}
		default:
			return p, fmt.Errorf("%q: there is no parameter %q; there are app_profile and endpoint", text, param)
		}
	}
	return p, nil
}

// String is the URL without parameters.
func (p Place) String() string { return Scheme + "://" + p.Project + "/" + p.Instance }

// failed is an error of a call as one of package query.
func (s *Source) failed(ctx context.Context, table string, err error) error {
	return sourceError(ctx, s.place.String(), s.place.Endpoint == "", table, err)
}

func (p Place) parent() string { return wire.Instance{Project: p.Project, ID: p.Instance}.String() }

// A Source is an instance that is read. It is safe for concurrent use.
type Source struct {
	place Place
	data  bigtablepb.BigtableClient
	admin adminpb.BigtableTableAdminClient
	conns []*grpc.ClientConn
}

// Dial prepares the connections to an instance. Google's credentials are the
// application's default ones, as in all of Google's programs. It connects with the first
// call.
func Dial(ctx context.Context, p Place) (*Source, error) {
	s := &Source{place: p}
	opts := []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxRequest))}
	dataAt, adminAt := p.Endpoint, p.Endpoint
	if p.Endpoint == "" {
		creds, err := google.FindDefaultCredentials(ctx, scope)
		if err != nil {
			return nil, refused("", "%s: Google's credentials: %v", p, err)
		}
		dataAt, adminAt = "bigtable.googleapis.com:443", "bigtableadmin.googleapis.com:443"
		opts = append(opts, grpc.WithTransportCredentials(credentials.NewTLS(nil)),
			grpc.WithPerRPCCredentials(authorized{oauth.TokenSource{TokenSource: creds.TokenSource}, quotaProject(creds.JSON)}))
	} else {
		opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	for _, addr := range []string{dataAt, adminAt} {
		conn, err := grpc.NewClient(addr, opts...)
		if err != nil {
			_ = s.Close()
			return nil, refused("", "%s: %v", p, err)
		}
		s.conns = append(s.conns, conn)
	}
	s.data, s.admin = bigtablepb.NewBigtableClient(s.conns[0]), adminpb.NewBigtableTableAdminClient(s.conns[1])
	return s, nil
}

// Close closes the connections.
func (s *Source) Close() error {
	var err error
	for _, conn := range s.conns {
		if closeErr := conn.Close(); err == nil {
			err = closeErr
		}
	}
	return err
}

// scope is the right that a token is for: reading.
const scope = "https://www.googleapis.com/auth/cloud-platform.read-only"

// authorized adds a token to each call, and the project that pays for it.
type authorized struct {
	oauth.TokenSource
	pays string
}

func (a authorized) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	headers, err := a.TokenSource.GetRequestMetadata(ctx, uri...)
	if err == nil && a.pays != "" {
		headers["x-goog-user-project"] = a.pays
	}
	return headers, err
}

// quotaProject is the project that a file of credentials names for that.
func quotaProject(file []byte) string {
	var given struct {
		Project string `json:"quota_project_id"`
	}
	_ = json.Unmarshal(file, &given) // there is no file on Google's machines
	return given.Project
}

// call adds the headers of a call: Google routes calls by the name of what they are about,
// and smolwc tells the types of values if it is asked.
func (s *Source) call(ctx context.Context, field, name string) context.Context {
	params := field + "=" + url.QueryEscape(name)
	if s.place.AppProfile != "" {
		params += "&app_profile_id=" + url.QueryEscape(s.place.AppProfile)
	}
	headers := []string{wire.ParamsHeader, params}
	if s.place.Endpoint != "" {
		headers = append(headers, wire.ExactHeader, "1")
		if s.place.Token != "" {
			headers = append(headers, "authorization", "Bearer "+s.place.Token)
		}
	}
	return metadata.AppendToOutgoingContext(ctx, headers...)
}

func (s *Source) tableName(id string) string { return s.place.parent() + "/tables/" + id }
