package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/config"
)

const (
	dsn    = "seckill:hunter2@tcp(db:3306)/seckill"
	secret = "0123456789abcdef0123456789abcdef"
)

// with returns the least that both programs need, and the changes; "" takes a variable away.
func with(changes map[string]string) map[string]string {
	m := map[string]string{"SECKILL_MYSQL_DSN": dsn, "SECKILL_JWT_SECRET": secret, "PATH": "/bin"}
	maps.Copy(m, changes)
	maps.DeleteFunc(m, func(_, v string) bool { return v == "" })
	return m
}

var (
	defaultRedis = config.Redis{Addrs: config.List{"127.0.0.1:6379"}, WaitTimeout: 500 * time.Millisecond}
	defaultMySQL = config.MySQL{DSN: dsn, AutoMigrate: true}
	defaultLog   = config.Log{Level: slog.LevelInfo, Format: "json"}
)

func TestLoadDefaults(t *testing.T) {
	api, err := config.LoadAPI(with(nil))
	require.NoError(t, err)
	require.Equal(t, config.API{
		Redis: defaultRedis, MySQL: defaultMySQL, Log: defaultLog, JWT: config.JWT{Secret: secret},
		HTTPAddr: ":8080", OpsAddr: ":9090", RatePerUser: 10, AdmitMax: 4096,
	}, api)

	worker, err := config.LoadWorker(with(nil))
	require.NoError(t, err)
	require.NotEmpty(t, worker.Consumer)
	worker.Consumer = ""
	require.Equal(t, config.Worker{
		Redis: defaultRedis, MySQL: defaultMySQL, Log: defaultLog,
		OpsAddr: ":9091", BatchMax: 512, ClaimIdle: 30 * time.Second, AttemptsMax: 5,
		LockTTL: 10 * time.Second, PayTimeout: 15 * time.Minute,
	}, worker)
}

func TestLoadEveryVariable(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "jwks.json")
	require.NoError(t, os.WriteFile(keys, []byte(`{"keys":[]}`), 0o600))
	environ := with(map[string]string{
		"SECKILL_REDIS_ADDRS": "r1:26379, [::1]:26380 ,/run/redis.sock", "SECKILL_REDIS_MASTER": "main",
		"SECKILL_REDIS_USERNAME": "app", "SECKILL_REDIS_PASSWORD": "swordfish", "SECKILL_REDIS_DB": "3",
		"SECKILL_REDIS_TLS": "true", "SECKILL_PARTITIONS": "8", "SECKILL_AUTO_MIGRATE": "false",
		"SECKILL_REDIS_WAIT_REPLICAS": "2", "SECKILL_REDIS_WAIT_TIMEOUT": "20ms",
		"SECKILL_RATE_PER_USER": "0", "SECKILL_ADMIT_MAX": "100", "SECKILL_TRUSTED_PROXIES": "10.0.0.0/8, ::1",
		"SECKILL_CORS_ORIGINS": "https://shop.example, http://localhost:5173", "SECKILL_OPS_ADMIN": "true", "SECKILL_JWKS_FILE": keys,
		"SECKILL_HTTP_ADDR": "0.0.0.0:80", "SECKILL_OPS_ADDR": "127.0.0.1:0",
		"SECKILL_LOG_LEVEL": "debug", "SECKILL_LOG_FORMAT": "text",
		"SECKILL_BATCH_MAX": "4096", "SECKILL_CLAIM_IDLE": "1m", "SECKILL_ATTEMPTS_MAX": "1",
		"SECKILL_LOCK_TTL": "1500ms", "SECKILL_PAY_TIMEOUT": "0", "SECKILL_CONSUMER": "worker-a.1_x",
	})
	redis := config.Redis{
		Addrs: config.List{"r1:26379", "[::1]:26380", "/run/redis.sock"}, Master: "main",
		Username: "app", Password: "swordfish", DB: 3, TLS: true, Partitions: 8,
		WaitReplicas: 2, WaitTimeout: 20 * time.Millisecond,
	}
	mysql := config.MySQL{DSN: dsn}
	log := config.Log{Level: slog.LevelDebug, Format: "text"}

	api, err := config.LoadAPI(environ)
	require.NoError(t, err)
	require.Equal(t, config.API{
		Redis: redis, MySQL: mysql, Log: log, JWT: config.JWT{Secret: secret, File: keys},
		HTTPAddr: "0.0.0.0:80", OpsAddr: "127.0.0.1:0",
		RatePerUser: 0, AdmitMax: 100, TrustedProxies: config.List{"10.0.0.0/8", "::1"},
		CORSOrigins: config.List{"https://shop.example", "http://localhost:5173"}, OpsAdmin: true,
	}, api)

	worker, err := config.LoadWorker(environ)
	require.NoError(t, err)
	require.Equal(t, config.Worker{
		Redis: redis, MySQL: mysql, Log: log, OpsAddr: "127.0.0.1:0", BatchMax: 4096, ClaimIdle: time.Minute,
		AttemptsMax: 1, LockTTL: 1500 * time.Millisecond, PayTimeout: 0, Consumer: "worker-a.1_x",
	}, worker)
}

func TestLoadRefuses(t *testing.T) {
	tests := []struct{ name, variable, value, wrong string }{
		{"a redis address without a port", "SECKILL_REDIS_ADDRS", "127.0.0.1", `"127.0.0.1" holds "127.0.0.1", which is no host:port; for example 127.0.0.1:6379`},
		{"a redis address without a host", "SECKILL_REDIS_ADDRS", "a:1,:6379", `holds ":6379"`},
		{"a trailing comma", "SECKILL_REDIS_ADDRS", "a:1,", `holds ""`},
		{"a redis port past its bound", "SECKILL_REDIS_ADDRS", "a:65536", `no host:port`},
		{"a negative database", "SECKILL_REDIS_DB", "-1", "is not 0 or more"},
		{"a word for a database", "SECKILL_REDIS_DB", "main", `"main" is no whole number`},
		{"a word for a switch", "SECKILL_REDIS_TLS", "yes please", "is neither true nor false"},
		{"too many partitions", "SECKILL_PARTITIONS", "1025", "is not from 0 to 1024"},
		{"fewer than no replicas", "SECKILL_REDIS_WAIT_REPLICAS", "-1", "is not 0 or more; for example 1"},
		{"a wait without a unit", "SECKILL_REDIS_WAIT_TIMEOUT", "500", "is no duration with a unit; for example 500ms"},
		{"a wait for ever", "SECKILL_REDIS_WAIT_TIMEOUT", "0s", "is not from 1ms to 1s"},
		{"a wait longer than a buyer's", "SECKILL_REDIS_WAIT_TIMEOUT", "2s", "is not from 1ms to 1s"},
		{"a cluster without partitions", "SECKILL_PARTITIONS", "0", "a cluster, which needs 1 or more (or, if they are Sentinels, SECKILL_REDIS_MASTER); for example 8"},
		{"a word for auto migrate", "SECKILL_AUTO_MIGRATE", "maybe", "is neither true nor false"},
		{"no dsn", "SECKILL_MYSQL_DSN", "", "is required; for example seckill:password@tcp(127.0.0.1:3306)/seckill"},
		{"a dsn as a url", "SECKILL_MYSQL_DSN", "mysql://seckill:hunter2@db:3306/seckill", "is not of the form user:password@tcp(host:port)/database?name=value"},
		{"a dsn with a setting of no kind", "SECKILL_MYSQL_DSN", dsn + "?readTimeout=7", "is not of the form"},
		{"a dsn without a database", "SECKILL_MYSQL_DSN", "seckill:hunter2@tcp(db:3306)/", "SECKILL_MYSQL_DSN: names no database; for example"},
		{"an address for operations without a port", "SECKILL_OPS_ADDR", "9090", "is no host:port; for example :909"},
		{"an unknown log level", "SECKILL_LOG_LEVEL", "loud", "is no level of debug, info, warn, error; for example info"},
		{"an unknown log format", "SECKILL_LOG_FORMAT", "xml", `"xml" is neither json nor text; for example json`},
		{"an empty batch", "SECKILL_BATCH_MAX", "0", "is not from 1 to 4096; for example 512"},
		{"a huge batch", "SECKILL_BATCH_MAX", "4097", "is not from 1 to 4096"},
		{"a number no machine holds", "SECKILL_BATCH_MAX", "9223372036854775808", "is no whole number in range"},
		{"a duration without a unit", "SECKILL_CLAIM_IDLE", "5000", `"5000" is no duration with a unit; for example 30s`},
		{"an idle time under a second", "SECKILL_CLAIM_IDLE", "999ms", "is shorter than 1s"},
		{"an idle time under the lock's", "SECKILL_CLAIM_IDLE", "10s", "is not longer than SECKILL_LOCK_TTL, 10s"},
		{"no attempts", "SECKILL_ATTEMPTS_MAX", "0", "is not 1 or more; for example 5"},
		{"a lock too short to renew", "SECKILL_LOCK_TTL", "99ms", "is shorter than 100ms; for example 10s"},
		{"a lock of nanoseconds", "SECKILL_LOCK_TTL", "5000ns", "is shorter than 100ms"},
		{"a time to pay without a unit", "SECKILL_PAY_TIMEOUT", "15", "is no duration with a unit; for example 15m"},
		{"a time to pay under a second", "SECKILL_PAY_TIMEOUT", "1ms", "is neither 0 nor at least 1s"},
		{"a negative time to pay", "SECKILL_PAY_TIMEOUT", "-15m", "is neither 0 nor at least 1s"},
		{"a consumer with a space", "SECKILL_CONSUMER", "a b", "of the characters a-z A-Z 0-9 . _ -; for example worker-a-1"},
		{"a consumer without an end", "SECKILL_CONSUMER", strings.Repeat("x", 301), "is not at most 300"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cluster := map[string]string{"SECKILL_REDIS_ADDRS": "a:1,b:1", "SECKILL_PARTITIONS": "8"}
			cluster[tt.variable] = tt.value
			_, err := config.LoadWorker(with(cluster))
			requireFault(t, err, tt.variable, tt.wrong)
		})
	}
}

func TestLoadRefusesOfAPI(t *testing.T) {
	const keys = "config_test.go" // a file that can be read
	tests := []struct {
		name     string
		changes  map[string]string
		variable string
		wrong    string
	}{
		{"no secret", map[string]string{"SECKILL_JWT_SECRET": ""}, "SECKILL_JWT_SECRET", "is required, or SECKILL_JWKS_FILE or SECKILL_JWKS_URL; for example the output of: openssl rand -base64 32"},
		{"a short secret beside keys", map[string]string{"SECKILL_JWT_SECRET": "short", "SECKILL_JWKS_FILE": keys}, "SECKILL_JWT_SECRET", "has 5 bytes and needs at least 32"},
		{"keys at two places", map[string]string{"SECKILL_JWKS_FILE": keys, "SECKILL_JWKS_URL": "https://i.example/k"}, "SECKILL_JWKS_URL", "is set beside SECKILL_JWKS_FILE"},
		{"keys in a file that is not there", map[string]string{"SECKILL_JWKS_FILE": "/nowhere/k"}, "SECKILL_JWKS_FILE", `"/nowhere/k" cannot be read: no such file or directory; for example /etc/seckill/jwks.json`},
		{"keys in a folder", map[string]string{"SECKILL_JWKS_FILE": "/"}, "SECKILL_JWKS_FILE", `"/" cannot be read: is a directory`},
		{"keys at a path", map[string]string{"SECKILL_JWKS_URL": "/etc/jwks.json"}, "SECKILL_JWKS_URL", "is no address with http:// or https://; for example https://issuer.example/jwks.json"},
		{"keys by another scheme", map[string]string{"SECKILL_JWKS_URL": "ftp://i.example/k"}, "SECKILL_JWKS_URL", "is no address with http:// or https://"},
		{"an origin with a path", map[string]string{"SECKILL_CORS_ORIGINS": "https://shop.example/"}, "SECKILL_CORS_ORIGINS", `holds "https://shop.example/", which is no origin`},
		{"an origin without a scheme", map[string]string{"SECKILL_CORS_ORIGINS": "https://a.example,shop.example"}, "SECKILL_CORS_ORIGINS", `holds "shop.example"`},
		{"an origin that no browser writes so", map[string]string{"SECKILL_CORS_ORIGINS": "https://Shop.example"}, "SECKILL_CORS_ORIGINS", `holds "https://Shop.example"`},
		{"a pattern of origins", map[string]string{"SECKILL_CORS_ORIGINS": "*.example"}, "SECKILL_CORS_ORIGINS", `holds "*.example"`},
		{"a word as a switch", map[string]string{"SECKILL_OPS_ADMIN": "maybe"}, "SECKILL_OPS_ADMIN", "is neither true nor false"},
		{"a short secret", map[string]string{"SECKILL_JWT_SECRET": secret[1:]}, "SECKILL_JWT_SECRET", "has 31 bytes and needs at least 32"},
		{"an address without a port", map[string]string{"SECKILL_HTTP_ADDR": "localhost"}, "SECKILL_HTTP_ADDR", "is no host:port; for example :8080"},
		{"a port with a name", map[string]string{"SECKILL_HTTP_ADDR": ":http"}, "SECKILL_HTTP_ADDR", "is no host:port"},
		{"less than no rate", map[string]string{"SECKILL_RATE_PER_USER": "-1"}, "SECKILL_RATE_PER_USER", "is not from 0 to 1000000; for example 10"},
		{"nobody may wait", map[string]string{"SECKILL_ADMIT_MAX": "0"}, "SECKILL_ADMIT_MAX", "is not from 1 to 1000000; for example 4096"},
		{"a proxy by name", map[string]string{"SECKILL_TRUSTED_PROXIES": "10.0.0.1,proxy"}, "SECKILL_TRUSTED_PROXIES", `holds "proxy", which is no address or network; for example 10.0.0.0/8,::1`},
		{"one address for both", map[string]string{"SECKILL_OPS_ADDR": ":8080"}, "SECKILL_OPS_ADDR", "operations need an address of their own"},
		{"a trailing comma is no cluster", map[string]string{"SECKILL_REDIS_ADDRS": "a:1,", "SECKILL_REDIS_DB": "1"}, "SECKILL_REDIS_ADDRS", `holds ""`},
		{"a database of a cluster", map[string]string{"SECKILL_REDIS_ADDRS": "a:1,b:1", "SECKILL_PARTITIONS": "4", "SECKILL_REDIS_DB": "1"}, "SECKILL_REDIS_DB", "the only one a cluster has"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.LoadAPI(with(tt.changes))
			requireFault(t, err, tt.variable, tt.wrong)
		})
	}
}

// requireFault wants exactly one fault, of this variable.
func requireFault(t *testing.T, err error, variable, wrong string) {
	t.Helper()
	var e *config.Error
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Faults, 1, err)
	require.Equal(t, variable, e.Faults[0].Variable)
	require.ErrorContains(t, err, wrong)
}

func TestLoadNamesAllFaultsAtOnce(t *testing.T) {
	worker, err := config.LoadWorker(map[string]string{
		"SECKILL_CLAIM_IDLE": "5000", "SECKILL_BATCH_MAX": "0", "SECKILL_REDIS_ADDR": "a:1", "SECKILL_REDIS_PASSWORD": "swordfish",
	})
	require.Zero(t, worker)
	require.EqualError(t, err, `wrong settings:
  SECKILL_CLAIM_IDLE: "5000" is no duration with a unit; for example 30s
  SECKILL_MYSQL_DSN: is required; for example seckill:password@tcp(127.0.0.1:3306)/seckill
  SECKILL_BATCH_MAX: "0" is not from 1 to 4096; for example 512
  SECKILL_REDIS_ADDR: is not known; SECKILL_REDIS_ADDRS is`)
}

func TestLoadOfMisspeltNames(t *testing.T) {
	tests := []struct{ name, variable, near string }{
		{"a letter is missing", "SECKILL_REDIS_ADDR", "SECKILL_REDIS_ADDRS"},
		{"letters are swapped", "SECKILL_MYSQL_DNS", "SECKILL_MYSQL_DSN"},
		{"lower case", "seckill_log_level", "SECKILL_LOG_LEVEL"},
		{"known to the other program", "SECKILL_HTTP_ADDR", ""},
		{"what Kubernetes sets for a service", "SECKILL_REDIS_PORT", ""},
		{"another program's", "OTHER_LOG_LEVEL", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.LoadWorker(with(map[string]string{tt.variable: "127.0.0.1:80"}))
			if tt.near == "" {
				require.NoError(t, err)
				return
			}
			requireFault(t, err, tt.variable, "is not known; "+tt.near+" is")
		})
	}
}

func TestLoadWhatACommandNeeds(t *testing.T) {
	m, err := config.LoadMigrate(map[string]string{"SECKILL_MYSQL_DSN": dsn})
	require.NoError(t, err)
	require.Equal(t, config.Migrate{MySQL: defaultMySQL, Log: defaultLog}, m)

	j, err := config.LoadJWT(map[string]string{"SECKILL_JWT_SECRET": secret, "SECKILL_JWKS_FILE": "/of/another/machine"})
	require.NoError(t, err)
	require.Equal(t, secret, j.Secret.Reveal())

	t.Setenv("SECKILL_JWT_SECRET", secret)
	_, err = config.LoadJWT(nil)
	requireFault(t, err, "SECKILL_JWT_SECRET", "is required")
	_, err = config.LoadJWT(config.Environ())
	require.NoError(t, err)
}

func TestConsumerIsItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		w, err := config.LoadWorker(with(nil))
		require.NoError(t, err)
		require.Regexp(t, `^[A-Za-z0-9._-]+-`+strconv.Itoa(os.Getpid())+`-[0-9a-f]{16}$`, w.Consumer)
		_, err = config.LoadWorker(with(map[string]string{"SECKILL_CONSUMER": w.Consumer}))
		require.NoError(t, err, "a made name may be given, too")
		seen[w.Consumer] = true
	}
	require.Len(t, seen, 100)
}

func TestSecretStaysHidden(t *testing.T) {
	api, err := config.LoadAPI(with(map[string]string{"SECKILL_REDIS_PASSWORD": "swordfish"}))
	require.NoError(t, err)
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb, api)
		fmt.Fprintf(&out, verb, api.MySQL.DSN)
	}
	require.NoError(t, json.NewEncoder(&out).Encode(api))
	slog.New(slog.NewTextHandler(&out, nil)).Info("settings", "api", api, "dsn", api.MySQL.DSN)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("settings", "api", api, "dsn", api.MySQL.DSN)
	out.WriteString(errors.Join(fmt.Errorf("dsn %w", fmt.Errorf("%v", api.JWT))).Error())
	for _, s := range []string{"hunter2", "swordfish", secret} {
		require.NotContains(t, out.String(), s)
	}
	require.Contains(t, out.String(), "***")
	require.Empty(t, config.Secret("").String(), "that there is none may be seen")
}

// TestFaultsShowNoSecret breaks everything at once beside a secret that is too short.
func TestFaultsShowNoSecret(t *testing.T) {
	_, err := config.LoadAPI(map[string]string{"SECKILL_JWT_SECRET": "swordfish", "SECKILL_REDIS_PASSWORD": "hunter2", "SECKILL_REDIS_PASSWRD": "hunter3"})
	require.ErrorContains(t, err, "SECKILL_JWT_SECRET: has 9 bytes")
	require.NotContains(t, err.Error(), "swordfish")
	require.NotContains(t, err.Error(), "hunter")
	_, err = config.LoadAPI(with(map[string]string{"SECKILL_MYSQL_DSN": "hunter2", "SECKILL_JWKS_FILE": "/nowhere", "SECKILL_OPS_ADDR": "x"}))
	for _, variable := range []string{"SECKILL_MYSQL_DSN", "SECKILL_JWKS_FILE", "SECKILL_OPS_ADDR"} {
		require.ErrorContains(t, err, variable+": ")
	}
	require.NotContains(t, err.Error(), "hunter")
}
