package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

// B7: a page in a browser reads an answer and writes it again, and every id and number is
// what it was: ids past 2^53 are strings. Every route that is described is asked.
func TestNodeKeepsEveryAnswer(t *testing.T) {
	paid := row(largest, 42, largest, seckill.Paid)
	sale := onSale(largest)
	sale.Total, sale.Stock, sale.Price = seckill.TotalMax, seckill.TotalMax, seckill.PriceMax
	var got seckill.Voucher
	var key string
	s := shop{
		vouchers: listed(sale), tickets: holding(42, largest, largest), order: stored(paid), rows: []seckill.Order{paid},
		voucher: func(seckill.VoucherID) (seckill.Voucher, error) { return sale, nil }, create: creating(&got, &key, true),
	}
	s.life.cancel = s.order
	s.life.pay = func(seckill.OrderID, seckill.Payment) (seckill.Order, error) { return paid, nil }
	s.dead = []seckill.Dead{{ID: seckill.DeadID{Entry: "1-0"}, Original: "1-0", Order: paid}}
	r := s.open(t)
	var answers []string
	for name, op := range operations(r.api.OpenAPI()) {
		method, pattern, _ := strings.Cut(name, " ")
		path := strings.NewReplacer("{voucherId}", strconv.FormatInt(largest, 10), "{orderId}", strconv.FormatInt(largest, 10), "{id}", "1-0").Replace(pattern)
		body := ""
		if op.RequestBody != nil {
			text, err := json.Marshal(op.RequestBody.Content["application/json"].Example)
			require.NoError(t, err)
			body = string(text)
		}
		for _, role := range []auth.Role{auth.NoRole, auth.Admin, auth.Service} {
			w := r.do(method, path, body, append(as(t, 42, role), "Content-Type", "application/json")...)
			require.NotEqual(t, http.StatusInternalServerError, w.Code, name)
			answer := w.Body.String()
			if _, data, ok := strings.Cut(answer, "data: "); ok {
				answer = data // an event
			}
			answers = append(answers, strings.TrimSpace(answer))
		}
	}
	require.Contains(t, strings.Join(answers, "\n"), `"orderId":"9223372036854775807"`)
	for i, again := range node(t, answers) {
		require.Equal(t, plain(t, answers[i]), plain(t, again))
	}
}

// node has Node.js read and write JSON.
func node(t *testing.T, texts []string) (again []string) {
	t.Helper()
	in, err := json.Marshal(texts)
	require.NoError(t, err)
	const script = `const fs = require("fs")
		const texts = JSON.parse(fs.readFileSync(0, "utf8"))
		process.stdout.write(JSON.stringify(texts.map(text => JSON.stringify(JSON.parse(text)))))`
	cmd := exec.CommandContext(t.Context(), "node", "-e", script)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	require.NoError(t, err, "this test needs Node.js on the PATH")
	require.NoError(t, json.Unmarshal(out, &again))
	return again
}

// plain reads JSON and keeps its numbers as they are written.
func plain(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), text)
	return v
}

// What is called an id is a string in every schema, of routes to come as well.
func TestEveryIDIsAString(t *testing.T) {
	doc := described(t)
	ids := 0
	for name, schema := range doc.Components.Schemas.Map() {
		for field, p := range schema.Properties {
			if field == "id" || strings.HasSuffix(field, "Id") || strings.HasSuffix(field, "Cursor") || field == "next" {
				require.Equal(t, "string", p.Type, "%s.%s", name, field)
				ids++
			}
		}
	}
	require.Greater(t, ids, 5)
}
