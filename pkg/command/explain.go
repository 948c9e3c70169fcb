package command

import (
	"errors"
	"regexp"
	"strings"
	"syscall"

	"github.com/openseckill/seckill/pkg/seckill"
)

// place is where an error says which function of which package met it, and its code.
var place = regexp.MustCompile(`(?m)\b[a-z]+\.[A-Z]\w*: (?:([A-Z][A-Z_]+)(: |$))?`)

// Explain is err in words for whoever typed the command or wrote the settings: without the
// names of functions, and with what to change where that is known.
func Explain(err error) string {
	text := place.ReplaceAllStringFunc(err.Error(), func(found string) string {
		m := place.FindStringSubmatch(found)
		if m[1] == "" || m[2] != "" {
			return "" // the cause follows
		}
		return strings.ToLower(strings.ReplaceAll(m[1], "_", " "))
	})
	if fix := fixOf(err); fix != "" {
		text += "\n  " + fix
	}
	return text
}

// A server that speaks no TLS waits in silence for the end of what it takes for a command.
const silent = "Redis does not answer: check SECKILL_REDIS_ADDRS, and whether SECKILL_REDIS_TLS is what the server speaks."

// fixes are what to do about errors of the stores, the first row that fits.
var fixes = []struct{ store, says, fix string }{
	{"redisstore.", "WRONGPASS", "Redis refused the password: check SECKILL_REDIS_USERNAME and SECKILL_REDIS_PASSWORD."},
	{"redisstore.", "NOAUTH", "Redis wants a password: set SECKILL_REDIS_PASSWORD, and SECKILL_REDIS_USERNAME for an ACL user."},
	{"redisstore.", "NOPERM", "The user lacks a right in Redis: extend its ACL, or change SECKILL_REDIS_USERNAME."},
	{"redisstore.", "DB index is out of range", "This Redis has no such database: lower SECKILL_REDIS_DB, or raise databases in redis.conf."},
	{"redisstore.", "first record does not look like a TLS handshake", "This Redis does not speak TLS: set SECKILL_REDIS_TLS=false."},
	{"redisstore.", "x509:", "The certificate of this Redis is not trusted: the names in SECKILL_REDIS_ADDRS must be those of the certificate, and its issuer known to this machine."},
	{"redisstore.", "EOF", "Redis hung up: if it wants TLS, set SECKILL_REDIS_TLS=true; check the port in SECKILL_REDIS_ADDRS."},
	{"redisstore.", "reset by peer", "Redis hung up: if it wants TLS, set SECKILL_REDIS_TLS=true; check the port in SECKILL_REDIS_ADDRS."},
	{"redisstore.", "dial ", "No Redis answers there: start it, or check SECKILL_REDIS_ADDRS."},
	{"redisstore.", "maxmemory-policy", "redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf."},
	{"redisstore.", "i/o timeout", silent},
	{"redisstore.", "deadline exceeded", silent},
	{"sqlstore.", "Error 1045", "The database refused user or password: check SECKILL_MYSQL_DSN."},
	{"sqlstore.", "Error 1044", "The user may not use that database: GRANT it, or check SECKILL_MYSQL_DSN."},
	{"sqlstore.", "Error 1049", "There is no such database: create it, or check SECKILL_MYSQL_DSN."},
	{"sqlstore.", "Error 1142", "The user lacks a right on the tables: GRANT it, or run `api migrate` as a user that has it."},
	{"sqlstore.", "Error 1146", "A table is missing: run `api migrate`."},
	{"sqlstore.", "TLS requested but server does not support TLS", "The database does not speak TLS: drop tls= from SECKILL_MYSQL_DSN."},
	{"sqlstore.", "insecure transport", "The database wants TLS: add tls=true to SECKILL_MYSQL_DSN."},
	{"sqlstore.", "dial ", "No database answers there: start it, or check SECKILL_MYSQL_DSN."},
	{"sqlstore.", "i/o timeout", "The database does not answer: check SECKILL_MYSQL_DSN."},
}

func fixOf(err error) string {
	if errors.Is(err, syscall.EADDRINUSE) {
		return "Stop the program that listens there, or choose another address."
	}
	var e *seckill.Error
	if !errors.As(err, &e) {
		return ""
	}
	text := err.Error()
	for _, f := range fixes {
		if strings.HasPrefix(e.Op, f.store) && strings.Contains(text, f.says) {
			return f.fix
		}
	}
	return ""
}
