// A careful client in Go, with nothing but the standard library.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"time"
)

const (
	attempts    = 9
	largestBody = 1 << 20
	longestWait = 3 * time.Second
)

var outcomes = map[string]string{"success": "paid", "failed": "failed", "pending": "pending"}

// entry is a line of the input, and the body of a create.
type entry struct {
	Reference   string `json:"reference"`
	Amount      int64  `json:"amount"`
	PhoneNumber string `json:"phoneNumber"`
	Country     string `json:"country"`
	Currency    string `json:"currency"`
}

// payout has what a client reads of a record. The response to a create lacks country, currency and customer.
type payout struct {
	MerchantsReference string `json:"merchantsReference"`
	Amount             int64  `json:"amount"`
	Country            string `json:"country"`
	Currency           string `json:"currency"`
	Status             string `json:"status"`
	Customer           struct {
		PhoneNumber string `json:"phoneNumber"`
	} `json:"customer"`
}

func (p payout) pays(e entry) bool {
	return p.Amount == e.Amount && p.Country == e.Country && p.Currency == e.Currency &&
		p.Customer.PhoneNumber == e.PhoneNumber
}

// outcome returns what the status means. A status that a later version of the contract adds is not final.
func (p payout) outcome() string {
	if known, ok := outcomes[p.Status]; ok {
		return known
	}
	return "pending"
}

// reply is a response that was read completely. The fields of its JSON are empty if it is a gateway's page.
type reply struct {
	status int
	header http.Header
	body   struct {
		StatusCode int             `json:"statusCode"`
		Error      string          `json:"error"`
		Code       string          `json:"code"`
		Data       json.RawMessage `json:"data"`
	}
}

// isRefusal reports whether the service itself says no. A gateway's page says nothing about the payout, and its JSON has
// no code.
func (r *reply) isRefusal() bool {
	return r.status >= 400 && r.status < 500 && r.body.StatusCode == r.status && r.body.Error != "" && r.body.Code != ""
}

// wait returns the delay that the response asks for.
func (r *reply) wait() time.Duration {
	text := r.header.Get("Retry-After")
	var wait time.Duration
	if date, err := http.ParseTime(text); err == nil {
		wait = time.Until(date)
	} else if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	}
	if wait > longestWait {
		return longestWait
	}
	return wait
}

type client struct {
	baseURL, key string
	http         *http.Client
	notes        *notes
}

// notes stores which payments may have been sent: then a later refusal proves nothing, also in another start.
type notes struct {
	// file is nil if nothing can be stored. Then an earlier start may have sent anything.
	file    *os.File
	inDoubt map[string]bool
}

func openNotes(folder string) (*notes, error) {
	n := &notes{inDoubt: map[string]bool{}}
	if folder == "" {
		return n, nil
	}
	name := path.Join(folder, "sent")
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, line := range bytes.Split(text, []byte("\n")) {
		// A line that a killed start did not finish is about a payment that it had not sent.
		if bytes.HasSuffix(line, []byte("}")) {
			if err := json.Unmarshal(line, &n.inDoubt); err != nil {
				return nil, err
			}
		}
	}
	if n.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	_, err = n.file.WriteString("\n")
	return n, err
}

func (n *notes) isInDoubt(e entry) bool {
	inDoubt, known := n.inDoubt[e.Reference]
	return inDoubt || (!known && n.file == nil)
}

func (n *notes) set(e entry, inDoubt bool) {
	n.inDoubt[e.Reference] = inDoubt
	if n.file == nil {
		return
	}
	line, err := json.Marshal(map[string]bool{e.Reference: inDoubt})
	if err == nil {
		_, err = n.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = n.file.Sync()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// call sends a request and reads the whole response. An error means that nobody knows what the service did.
func (c *client) call(method, target string, body io.Reader) (*reply, error) {
	request, err := http.NewRequest(method, c.baseURL+target, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Api-Key", c.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, largestBody+1))
	if err != nil {
		return nil, err
	}
	if len(text) > largestBody {
		return nil, errors.New("the response is too large")
	}
	r := &reply{status: response.StatusCode, header: response.Header}
	if json.Unmarshal(text, &r.body) != nil {
		log.Printf("%s: a response with status %d is not the service's JSON", method, r.status)
	}
	return r, nil
}

// read returns the data of a successful response to a read, or nil.
func read[Data any](c *client, target string) *Data {
	r, err := c.call(http.MethodGet, target, nil)
	if err != nil {
		log.Print(err)
		return nil
	}
	data := new(Data)
	if r.status != http.StatusOK || json.Unmarshal(r.body.Data, data) != nil {
		return nil
	}
	return data
}

// find reads the payout with the entry's reference: where the Location points, else from the list.
func (c *client) find(e entry, location string) *payout {
	// Only the last segment is used, so that a forged Location does not send the key elsewhere.
	if target, err := url.Parse(location); err == nil && location != "" {
		found := read[payout](c, "/v1/disbursements/"+url.PathEscape(path.Base(target.Path)))
		if found != nil && found.MerchantsReference == e.Reference {
			return found
		}
	}
	type page struct{ Items []payout }
	list := read[page](c, "/v1/disbursements?merchantsReference="+url.QueryEscape(e.Reference))
	if list == nil {
		return nil
	}
	for _, found := range list.Items {
		if found.MerchantsReference == e.Reference {
			return &found
		}
	}
	return nil
}

// create sends an entry once. It returns an outcome if this is certain, and whether the payout may be recorded.
func (c *client) create(e entry, inDoubt bool) (outcome string, mayExist bool, wait time.Duration) {
	body, err := json.Marshal(e)
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.call(http.MethodPost, "/v1/disbursements", bytes.NewReader(body))
	if err != nil {
		log.Print(err)
		return "", true, 0
	}
	var created payout
	switch {
	case r.status == http.StatusOK && json.Unmarshal(r.body.Data, &created) == nil &&
		created.MerchantsReference == e.Reference && created.Amount == e.Amount:
		return created.outcome(), true, 0
	case r.status == http.StatusTooManyRequests:
		return "", inDoubt, r.wait()
	case !r.isRefusal():
		return "", true, r.wait()
	case r.status != http.StatusConflict && inDoubt:
		// After a lost response a refusal may be due to the payout itself, for example for lack of balance.
		return "unknown", true, 0
	case r.status != http.StatusConflict:
		return "refused", false, 0
	}
	found := c.find(e, r.header.Get("Location"))
	switch {
	case found == nil, found.Customer.PhoneNumber == "":
		// An item of a list may lack the recipient.
		return "", true, 0
	case found.pays(e):
		return found.outcome(), true, 0
	default:
		return "refused", false, 0
	}
}

// pay pays an entry, and notes before that it may be sent.
func (c *client) pay(e entry) string {
	inDoubt := c.notes.isInDoubt(e)
	c.notes.set(e, true)
	outcome := c.send(e, inDoubt)
	if outcome == "refused" {
		c.notes.set(e, false)
	}
	return outcome
}

// send sends an entry with the same reference until its outcome is certain.
func (c *client) send(e entry, inDoubt bool) string {
	pause := 50 * time.Millisecond
	for attempt := 0; attempt < attempts; attempt++ {
		outcome, mayExist, wait := c.create(e, inDoubt)
		if outcome != "" {
			return outcome
		}
		inDoubt = mayExist || inDoubt
		time.Sleep(wait + pause)
		if pause < time.Second/2 {
			pause *= 2
		}
	}
	if inDoubt {
		return "unknown"
	}
	return "refused"
}

func main() {
	milliseconds, err := strconv.Atoi(os.Getenv("TIMEOUT_MS"))
	if err != nil {
		log.Fatal("TIMEOUT_MS: ", err)
	}
	notes, err := openNotes(os.Getenv("STATE_DIR"))
	if err != nil {
		log.Fatal("STATE_DIR: ", err)
	}
	c := &client{os.Getenv("BASE_URL"), os.Getenv("API_KEY"), &http.Client{
		Timeout:       time.Duration(milliseconds) * time.Millisecond,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, notes}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			log.Fatal("standard input: ", err)
		}
		line, err := json.Marshal(map[string]string{"reference": e.Reference, "outcome": c.pay(e)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(line))
	}
	if err := lines.Err(); err != nil {
		log.Fatal("standard input: ", err)
	}
}
