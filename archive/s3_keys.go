package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"gopkg.in/ini.v1"
)

// keysTimeout bounds a request for access keys, and a process that gives them.
const keysTimeout = time.Minute

// metadataTimeout bounds a request for the role of a machine: where nothing answers, it
// is not one of Amazon's.
const metadataTimeout = 10 * time.Second

// A profile is the settings that AWS's files have under the name in AWS_PROFILE.
type profile map[string]string

var awsSyntax = ini.LoadOptions{
	AllowNestedValues: true, InsensitiveKeys: true, KeyValueDelimiters: "=",
	SpaceBeforeInlineComment: true, PreserveSurroundedQuote: true, IgnoreContinuation: true,
}

func profileName() string {
	return cmp.Or(os.Getenv("AWS_PROFILE"), os.Getenv("AWS_DEFAULT_PROFILE"), "default")
}

// readProfile reads AWS's files. The credentials file takes precedence; files that do
// not exist are empty.
func readProfile() (profile, error) {
	home, _ := os.UserHomeDir()
	name, p := profileName(), profile{}
	for _, file := range []struct{ variable, name, prefix string }{
		{"AWS_CONFIG_FILE", "config", "profile "},
		{"AWS_SHARED_CREDENTIALS_FILE", "credentials", ""},
	} {
		path := cmp.Or(os.Getenv(file.variable), filepath.Join(home, ".aws", file.name))
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		settings, err := ini.LoadSources(awsSyntax, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		section := name
		if name != "default" {
			section = file.prefix + name
		}
		if s, err := settings.GetSection(section); err == nil {
			for key, value := range s.KeysHash() {
				p[key] = value
			}
		}
	}
	return p, nil
}

// findKeys finds what gives access keys: the environment, then the profile, then what
// Amazon gives a container, and the machine's role if the target says so.
func findKeys(ctx context.Context, t s3Target, region string, p profile, keyring *credentials.CredContext) (*credentials.Credentials, error) {
	provider, err := providerOf(t, region, p)
	if err != nil {
		return nil, err
	}
	if provider == nil {
		return nil, noKeys(t, errNoKeys)
	}
	keys := credentials.New(provider)
	first := *keyring
	first.Context = ctx
	if v, err := keys.GetWithContext(&first); err != nil || v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return nil, noKeys(t, cmp.Or(err, errNoKeys))
	}
	return keys, nil
}

var errNoKeys = errors.New("AWS's files have none for it")

func providerOf(t s3Target, region string, p profile) (credentials.Provider, error) {
	id, secret := cmp.Or(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_ACCESS_KEY")), cmp.Or(os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SECRET_KEY"))
	switch {
	case id != "" && secret != "":
		return fixed(id, secret, os.Getenv("AWS_SESSION_TOKEN")), nil
	case id != "" || secret != "":
		return nil, noKeys(t, errNoKeys)
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		return &credentials.IAM{Region: region}, nil
	case p["role_arn"] != "" || p["login_session"] != "":
		return nil, fmt.Errorf("%w: the profile takes a role or a login of AWS's, which only AWS's own tools do; make one with credential_process = aws configure export-credentials --format process --profile NAME", ErrDenied)
	case p["aws_access_key_id"] != "" && p["aws_secret_access_key"] != "":
		return fixed(p["aws_access_key_id"], p["aws_secret_access_key"], p["aws_session_token"]), nil
	case p["sso_session"] != "" || p["sso_start_url"] != "":
		return &credentials.FileAWSCredentials{Profile: profileName()}, nil
	case p["credential_process"] != "":
		return &processKeys{command: p["credential_process"]}, nil
	case os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		return &credentials.IAM{Region: region}, nil
	case t.instance:
		return &credentials.IAM{Endpoint: os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), Client: &http.Client{Timeout: metadataTimeout}}, nil
	}
	return nil, nil
}

func fixed(id, secret, token string) credentials.Provider {
	return &credentials.Static{Value: credentials.Value{AccessKeyID: id, SecretAccessKey: secret, SessionToken: token, SignerType: credentials.SignatureV4}}
}

// processKeys are the access keys that a process writes to its output. The library
// also runs such a process, but only a command without quotes, and again for each
// request if its keys do not expire.
type processKeys struct {
	credentials.Expiry
	command string
	lasting bool
}

func (p *processKeys) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	ctx, cancel := context.WithTimeout(cmp.Or(cc.Context, context.Background()), keysTimeout)
	defer cancel()
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd.exe", "/C"}
	}
	said, err := exec.CommandContext(ctx, shell[0], shell[1], p.command).Output()
	if err != nil {
		return credentials.Value{}, fmt.Errorf("credential_process %s: %w", p.command, err)
	}
	var v struct {
		AccessKeyId, SecretAccessKey, SessionToken string
		Expiration                                 time.Time
	}
	if err := json.Unmarshal(said, &v); err != nil {
		return credentials.Value{}, fmt.Errorf("credential_process %s: what it writes is not JSON with access keys", p.command)
	}
	p.lasting = v.Expiration.IsZero()
	p.SetExpiration(v.Expiration, credentials.DefaultExpiryWindow)
	return credentials.Value{AccessKeyID: v.AccessKeyId, SecretAccessKey: v.SecretAccessKey, SessionToken: v.SessionToken, SignerType: credentials.SignatureV4}, nil
}

func (p *processKeys) Retrieve() (credentials.Value, error) {
	return p.RetrieveWithCredContext(&credentials.CredContext{})
}

func (p *processKeys) IsExpired() bool { return !p.lasting && p.Expiry.IsExpired() }
