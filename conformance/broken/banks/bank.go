// A bank that looks for a reference, and remembers it WINDOW_MS later. With WINDOW_MS=0 it does both in one step.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type object = map[string]any

var (
	used    sync.Map
	records sync.Map
	count   int64
	counted sync.Mutex
)

func isNew(reference any, window time.Duration) bool {
	if window > 0 {
		if _, found := used.Load(reference); found {
			return false
		}
		time.Sleep(window)
	}
	_, found := used.LoadOrStore(reference, true)
	return window > 0 || !found
}

func nextReference() string {
	counted.Lock()
	defer counted.Unlock()
	count++
	return fmt.Sprintf("GO-%09d", count)
}

func reply(response http.ResponseWriter, status int, body object) {
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	json.NewEncoder(response).Encode(body)
}

func refuse(response http.ResponseWriter, status int, text string) {
	reply(response, status, object{"statusCode": status, "error": text})
}

func pay(response http.ResponseWriter, request *http.Request, window time.Duration) {
	var given object
	decoder := json.NewDecoder(request.Body)
	decoder.UseNumber()
	if decoder.Decode(&given) != nil {
		refuse(response, 400, "This is not a JSON object.")
		return
	}
	if !isNew(given["reference"], window) {
		refuse(response, 409, "The reference was used before.")
		return
	}
	reference := nextReference()
	created := object{"reference": reference, "merchantsReference": given["reference"], "amount": given["amount"], "fee": 0, "status": "success"}
	record := object{"customer": object{"phoneNumber": given["phoneNumber"]}}
	for _, name := range []string{"country", "currency", "webhookURL"} {
		record[name] = given[name]
	}
	for name, value := range created {
		record[name] = value
	}
	records.Store(reference, record)
	reply(response, 200, object{"statusCode": 200, "data": created})
}

func main() {
	milliseconds, _ := strconv.Atoi(os.Getenv("WINDOW_MS"))
	window := time.Duration(milliseconds) * time.Millisecond
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		path := request.URL.Path
		if path == "/healthz" {
			reply(response, 200, object{"status": "ok", "environment": "sandbox"})
		} else if !strings.HasPrefix(request.Header.Get("x-api-key"), "bank-key-") {
			refuse(response, 401, "The key is missing or wrong.")
		} else if request.Method == "POST" && path == "/v1/disbursements" {
			pay(response, request, window)
		} else if record, found := records.Load(strings.TrimPrefix(path, "/v1/disbursements/")); found {
			reply(response, 200, object{"statusCode": 200, "data": record})
		} else {
			refuse(response, 404, "There is no such disbursement.")
		}
	})))
}
