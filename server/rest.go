package server

import (
	"context"
	"io"
	"net/http"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/jsonapi"
)

// Terraform's provider manages app profiles by the admin API's REST form, and all else
// over gRPC. These are the paths and bodies of
// https://cloud.google.com/bigtable/docs/reference/admin/rest.
const (
	profilesPath = "/v2/projects/{project}/instances/{instance}/appProfiles"
	profilePath  = profilesPath + "/{profile}"
)

// restPages serves app profiles over REST.
func (s *Server) restPages(mux *http.ServeMux) {
	handle := func(pattern, method string, do func(ctx context.Context, req proto.Message) (proto.Message, error), request func(r *http.Request) (proto.Message, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			resp, err := s.rest(r, method, do, request)
			answerREST(w, resp, err)
		})
	}
	const service = "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
	handle("GET "+profilesPath, service+"ListAppProfiles", restCall(s.admin.ListAppProfiles), func(r *http.Request) (proto.Message, error) {
		return &adminpb.ListAppProfilesRequest{Parent: instanceOf(r), PageToken: r.FormValue("pageToken")}, nil
	})
	handle("POST "+profilesPath, service+"CreateAppProfile", restCall(s.admin.CreateAppProfile), func(r *http.Request) (proto.Message, error) {
		profile, err := profileIn(r)
		return &adminpb.CreateAppProfileRequest{Parent: instanceOf(r), AppProfileId: r.FormValue("appProfileId"), AppProfile: profile, IgnoreWarnings: ignoresWarnings(r)}, err
	})
	handle("GET "+profilePath, service+"GetAppProfile", restCall(s.admin.GetAppProfile), func(r *http.Request) (proto.Message, error) {
		return &adminpb.GetAppProfileRequest{Name: profileOf(r)}, nil
	})
	handle("PATCH "+profilePath, service+"UpdateAppProfile", restCall(s.admin.UpdateAppProfile), func(r *http.Request) (proto.Message, error) {
		profile, err := profileIn(r)
		if err != nil {
			return nil, err
		}
		profile.Name = profileOf(r)
		mask := new(fieldmaskpb.FieldMask)
		if err := protojson.Unmarshal([]byte(`"`+r.FormValue("updateMask")+`"`), mask); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "updateMask is not a list of fields with commas between: %v", err)
		}
		return &adminpb.UpdateAppProfileRequest{AppProfile: profile, UpdateMask: mask, IgnoreWarnings: ignoresWarnings(r)}, nil
	})
	handle("DELETE "+profilePath, service+"DeleteAppProfile", restCall(s.admin.DeleteAppProfile), func(r *http.Request) (proto.Message, error) {
		return &adminpb.DeleteAppProfileRequest{Name: profileOf(r), IgnoreWarnings: ignoresWarnings(r)}, nil
	})
}

func instanceOf(r *http.Request) string {
	return "projects/" + r.PathValue("project") + "/instances/" + r.PathValue("instance")
}

func profileOf(r *http.Request) string {
	return instanceOf(r) + "/appProfiles/" + r.PathValue("profile")
}

func ignoresWarnings(r *http.Request) bool { return r.FormValue("ignoreWarnings") == "true" }

// profileIn is the app profile in the body of a request.
func profileIn(r *http.Request) (*adminpb.AppProfile, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxControl))
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the body cannot be read: %v", err)
	}
	profile := new(adminpb.AppProfile)
	if err := protojson.Unmarshal(body, profile); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the body is not an app profile: %v", err)
	}
	return profile, nil
}

// restCall makes a method one for any message. The guard gives it its own request again.
func restCall[Req, Resp proto.Message](do func(context.Context, Req) (Resp, error)) func(context.Context, proto.Message) (proto.Message, error) {
	return func(ctx context.Context, req proto.Message) (proto.Message, error) { return do(ctx, req.(Req)) }
}

// rest carries out a call with the limits and rights of the same call over gRPC.
func (s *Server) rest(r *http.Request, method string, do func(context.Context, proto.Message) (proto.Message, error), request func(*http.Request) (proto.Message, error)) (proto.Message, error) {
	if r.Header.Get("Origin") != "" {
		return nil, status.Error(codes.PermissionDenied, "pages of a browser may not administer the server")
	}
	if err := s.checkOrigin(r); err != nil {
		return nil, err
	}
	ctx := metadata.NewIncomingContext(r.Context(), metadata.Pairs("authorization", r.Header.Get("Authorization")))
	token, err := s.access.Identify(ctx, method)
	if err != nil {
		return nil, err
	}
	req, err := request(r)
	if err != nil {
		return nil, err
	}
	resp, err := s.guard.unary(access.WithToken(ctx, token), req, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, req any) (any, error) {
		return do(ctx, req.(proto.Message))
	})
	if err != nil {
		return nil, err
	}
	return resp.(proto.Message), nil
}

func answerREST(w http.ResponseWriter, resp proto.Message, err error) {
	var body []byte
	if err == nil {
		body, err = protojson.Marshal(resp)
	}
	if err != nil {
		st := status.Convert(err)
		code := jsonapi.HTTPStatus(st.Code())
		name := ""
		for known, c := range grpcCodes {
			if c == st.Code() {
				name = known
			}
		}
		answerJSON(w, code, map[string]any{"error": map[string]any{"code": code, "message": st.Message(), "status": name}})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // fails if the client is gone
}
