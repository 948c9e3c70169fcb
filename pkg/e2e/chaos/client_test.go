package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/seckill"
)

// callMax is how long a client waits for an answer before it gives up.
const callMax = 5 * time.Second

// answer is an answer of an api. Its zero value is that none came.
type answer struct {
	HTTP    int    `json:"-"`
	OrderID string `json:"orderId"`
	Voucher string `json:"voucherId"`
	Status  any    `json:"status"` // text of an order, the number of a problem
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	Receipt string `json:"receipt"`
}

func (a answer) came() bool { return a.HTTP != 0 }

// open says that nobody knows whether what was asked for was done, or will be.
func (a answer) open() bool { return !a.came() || a.HTTP >= 500 }

// status is that of the order, "" where the answer is none about one.
func (a answer) status() string {
	text, _ := a.Status.(string)
	return text
}

func (a answer) String() string {
	switch {
	case !a.came():
		return "no answer"
	case a.Code != "":
		return fmt.Sprintf("%d %s", a.HTTP, a.Code)
	default:
		return fmt.Sprintf("%d %s %s", a.HTTP, a.OrderID, a.status())
	}
}

// errUnsent says that a request never left: it has not happened, and will not.
var errUnsent = errors.New("nobody listens")

var transport = &http.Transport{MaxIdleConnsPerHost: 64, DialContext: (&net.Dialer{Timeout: callMax}).DialContext}

// call makes a request of an api, which may show a receipt; no answer is no error.
func call(ctx context.Context, n *node, method, path, token, body string, receipt ...string) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, callMax)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+n.http+path, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header["Seckill-Receipt"] = receipt
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := transport.RoundTrip(r)
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return a, errUnsent
	}
	if err != nil {
		return a, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, nil
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("%s %s: %d %s: %w", method, path, resp.StatusCode, text, err)
	}
	a.HTTP = resp.StatusCode
	return a, nil
}

// token signs who the caller is. It is good for ever, also by a clock that jumps.
func token(user int64, role string) string {
	text, err := app.Token([]byte(secret), seckill.UserID(user), role, time.Unix(0, 0), 0)
	if err != nil {
		panic(err)
	}
	return text
}

// command runs a command of a program to its end.
func command(ctx context.Context, path string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, &out)
	}
	return nil
}

// create puts a voucher on sale.
func (w *world) create(total int) (voucher string, err error) {
	body := fmt.Sprintf(`{"title":"chaos","price":100,"total":%d,"beginsAt":%q,"endsAt":%q}`, total,
		time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	a, err := call(w.pass(), w.apis[0], http.MethodPost, "/api/v1/admin/vouchers", token(1, "admin"), body)
	if err == nil && a.HTTP != http.StatusCreated {
		err = fmt.Errorf("create: %v %s", a, a.Detail)
	}
	return a.Voucher, err
}
