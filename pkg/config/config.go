// Package config reads the settings of the programs from environment variables. It owns
// their names, defaults and bounds, and imports nothing of ours.
package config

import (
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// API are the settings of the api.
type API struct {
	Redis    Redis
	MySQL    MySQL
	JWT      JWT
	Log      Log
	HTTPAddr string `env:"SECKILL_HTTP_ADDR" envDefault:":8080"` // where buyers ask
	OpsAddr  string `env:"SECKILL_OPS_ADDR" envDefault:":9090"`  // where operators ask

	ReceiptSecret Secret `env:"SECKILL_RECEIPT_SECRET" example:"the output of: openssl rand -base64 32"` // of receipts; SECKILL_JWT_SECRET if it is not set

	RatePerUser    int  `env:"SECKILL_RATE_PER_USER" envDefault:"10"`               // purchases a second of one user; 0: no limit
	AdmitMax       int  `env:"SECKILL_ADMIT_MAX" envDefault:"4096"`                 // purchases that may wait for Redis at a time
	TrustedProxies List `env:"SECKILL_TRUSTED_PROXIES" example:"10.0.0.0/8,::1"`    // whose X-Forwarded-For is believed
	CORSOrigins    List `env:"SECKILL_CORS_ORIGINS" example:"https://shop.example"` // pages that may call from a browser, each exactly; "*": all
	OpsAdmin       bool `env:"SECKILL_OPS_ADMIN" envDefault:"false"`                // serve /api/v1/admin where operators ask, too; a token is still needed
}

// Worker are the settings of the worker and its commands.
type Worker struct {
	Redis       Redis
	MySQL       MySQL
	Log         Log
	OpsAddr     string        `env:"SECKILL_OPS_ADDR" envDefault:":9091"`   // where operators ask
	BatchMax    int           `env:"SECKILL_BATCH_MAX" envDefault:"512"`    // orders in one transaction
	ClaimIdle   time.Duration `env:"SECKILL_CLAIM_IDLE" envDefault:"30s"`   // silence after which a message is taken over
	AttemptsMax int64         `env:"SECKILL_ATTEMPTS_MAX" envDefault:"5"`   // deliveries before a message is handled alone
	LockTTL     time.Duration `env:"SECKILL_LOCK_TTL" envDefault:"10s"`     // life of a user's lock that is not renewed
	PayTimeout  time.Duration `env:"SECKILL_PAY_TIMEOUT" envDefault:"15m"`  // life of an unpaid order; 0: no end
	Consumer    string        `env:"SECKILL_CONSUMER" example:"worker-a-1"` // name in the group; unique to the process
}

// Migrate are the settings of `api migrate`.
type Migrate struct {
	MySQL MySQL
	Log   Log
}

// Redis says where Redis is. Several addresses are a cluster, or Sentinels if there is a
// master.
type Redis struct {
	Addrs      List   `env:"SECKILL_REDIS_ADDRS" envDefault:"127.0.0.1:6379"` // host:port, or the path of a socket
	Master     string `env:"SECKILL_REDIS_MASTER"`                            // name of the master the Sentinels watch
	Username   string `env:"SECKILL_REDIS_USERNAME"`
	Password   Secret `env:"SECKILL_REDIS_PASSWORD"`
	DB         int    `env:"SECKILL_REDIS_DB" envDefault:"0"`
	TLS        bool   `env:"SECKILL_REDIS_TLS" envDefault:"false"`
	Partitions int    `env:"SECKILL_PARTITIONS" envDefault:"0" example:"8"` // 0: one, with plain key names

	WaitReplicas int           `env:"SECKILL_REDIS_WAIT_REPLICAS" envDefault:"0" example:"1"` // that must hold an order before it is accepted
	WaitTimeout  time.Duration `env:"SECKILL_REDIS_WAIT_TIMEOUT" envDefault:"500ms"`          // how long they may take
}

// List is several texts with commas between them.
type List []string

// UnmarshalText drops the spaces around the texts: people write them after a comma.
func (l *List) UnmarshalText(b []byte) error {
	parts := strings.Split(string(b), ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	*l = parts
	return nil
}

// MySQL says where the database is.
type MySQL struct {
	DSN         Secret `env:"SECKILL_MYSQL_DSN" example:"seckill:password@tcp(127.0.0.1:3306)/seckill"`
	AutoMigrate bool   `env:"SECKILL_AUTO_MIGRATE" envDefault:"true"` // bring the schema up to date at start
}

// JWT says by what tokens are checked: a secret, the public keys of a JWKS, or either. A
// token without exp is good for as long as its key is.
type JWT struct {
	Secret Secret `env:"SECKILL_JWT_SECRET" example:"the output of: openssl rand -base64 32"` // of HS256
	File   string `env:"SECKILL_JWKS_FILE" example:"/etc/seckill/jwks.json"`                  // keys of RS256 and ES256; read again every 30 s
	URL    Secret `env:"SECKILL_JWKS_URL" example:"https://issuer.example/jwks.json"`         // the same, served by an issuer; it may hold a password
}

// signing is what `api token` needs: a JWKS has no key that signs.
type signing struct{ JWT JWT }

// Log says what is logged, and how.
type Log struct {
	Level  slog.Level `env:"SECKILL_LOG_LEVEL" envDefault:"info"`
	Format string     `env:"SECKILL_LOG_FORMAT" envDefault:"json"` // "json" or "text"
}

// Environ returns the variables of the process by name.
func Environ() map[string]string { return env.ToMap(os.Environ()) }

// LoadAPI reads the settings of the api. The error is a *Error that names every variable
// that is wrong.
func LoadAPI(environ map[string]string) (API, error) { return load[API](environ) }

// LoadWorker is LoadAPI for the worker. Without SECKILL_CONSUMER the name is made from
// host, process id and a random number.
func LoadWorker(environ map[string]string) (Worker, error) {
	w, err := load[Worker](environ)
	if err == nil && w.Consumer == "" {
		w.Consumer = NewName()
	}
	return w, err
}

// LoadMigrate is LoadAPI for `api migrate`.
func LoadMigrate(environ map[string]string) (Migrate, error) { return load[Migrate](environ) }

// LoadJWT is LoadAPI for `api token`, which needs the secret.
func LoadJWT(environ map[string]string) (JWT, error) {
	s, err := load[signing](environ)
	return s.JWT, err
}
