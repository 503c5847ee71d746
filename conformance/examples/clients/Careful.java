// A careful client in Java 17's standard library. Java has no JSON parser there, so the program has a small one.
import java.io.*;
import java.math.BigDecimal;
import java.net.*;
import java.net.http.*;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.time.*;
import java.time.format.DateTimeFormatter;
import java.util.*;
import java.util.concurrent.*;

class Careful {
    record Reply(int status, HttpHeaders headers, Map<?, ?> body) {}

    static final String BASE = System.getenv("BASE_URL"), STATE = System.getenv().getOrDefault("STATE_DIR", "");
    static final Duration LIMIT = Duration.ofMillis(Long.parseLong(System.getenv("TIMEOUT_MS")));
    static final int ATTEMPTS = 9, LARGEST_BODY = 1_000_000;
    static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    static final Map<String, String> OUTCOMES = Map.of("success", "paid", "failed", "failed", "pending", "pending");

    /** Sends a request. Returns null if no complete response came in time. */
    static Reply call(String path, String body) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(BASE + path)).header("x-api-key", System.getenv("API_KEY"));
        if (body != null)
            request.header("content-type", "application/json").POST(HttpRequest.BodyPublishers.ofString(body));
        // The timeout of a request ends with the headers, so the future has one for the whole response.
        var future = HTTP.sendAsync(request.build(), info -> HttpResponse.BodySubscribers.ofInputStream())
                .thenApplyAsync(response -> {
                    try (var in = response.body()) {
                        var bytes = in.readNBytes(LARGEST_BODY);
                        Object json = null;
                        try {
                            json = bytes.length == LARGEST_BODY ? null : new Json(new String(bytes, "UTF-8")).read();
                        } catch (RuntimeException notJson) {
                        }
                        return new Reply(response.statusCode(), response.headers(), map(json));
                    } catch (IOException cut) {
                        throw new UncheckedIOException(cut);
                    }
                }, task -> {
                    var thread = new Thread(task);
                    thread.setDaemon(true);
                    thread.start();
                });
        try {
            return future.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException lost) {
            future.cancel(true);
            return null;
        }
    }

    /** Returns a JSON object, or an empty map: a gateway may send anything. */
    static Map<?, ?> map(Object value) {
        return value instanceof Map<?, ?> map ? map : Map.of();
    }

    /** Reads the payout with the entry's reference: where the Location points, and else from the list. */
    static Map<?, ?> find(Map<?, ?> entry, String location) throws Exception {
        var path = location.replaceFirst("^\\w+://[^/]*", "").replaceFirst("\\?.*", "");
        var isRecord = path.matches("/v1/disbursements/[\\w-]+");
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            var own = isRecord ? call(path, null) : null;
            if (own != null && own.status == 200 && isMine(map(own.body.get("data")), entry)) return map(own.body.get("data"));
            var reference = URLEncoder.encode((String) entry.get("reference"), StandardCharsets.UTF_8);
            var list = call("/v1/disbursements?merchantsReference=" + reference, null);
            if (list != null && list.status == 200 && map(list.body.get("data")).get("items") instanceof List<?> items) {
                for (var item : items) if (isMine(map(item), entry)) return map(item);
                if (!isRecord) return Map.of();
            }
            pause(attempt, null);
        }
        return Map.of();
    }

    static boolean isMine(Map<?, ?> record, Map<?, ?> entry) {
        return entry.get("reference").equals(record.get("merchantsReference"));
    }

    /** Returns whether a record pays the entry; null if it lacks a field. */
    static Boolean pays(Map<?, ?> record, Map<?, ?> entry) {
        var found = new HashMap<Object, Object>(record);
        found.put("phoneNumber", map(record.get("customer")).get("phoneNumber"));
        var names = List.of("amount", "country", "currency", "phoneNumber");
        if (names.stream().anyMatch(name -> found.get(name) == null)) return null;
        return names.stream().allMatch(name -> found.get(name).equals(entry.get(name)));
    }

    /** A status that a later version of the contract adds is not final. */
    static String outcome(Map<?, ?> record) {
        return OUTCOMES.getOrDefault(String.valueOf(record.get("status")), "pending");
    }

    static void pause(int attempt, Reply reply) throws InterruptedException {
        var text = reply == null ? "" : reply.headers.firstValue("retry-after").orElse("");
        long asked = 0;
        try {
            asked = text.matches("\\d{1,9}") ? Long.parseLong(text) * 1000
                    : Duration.between(Instant.now(), ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME)).toMillis();
        } catch (DateTimeException noDate) {
        }
        Thread.sleep(Math.min(Math.max(asked, 0), 3000) + (50L << Math.min(attempt, 4)));
    }

    static String pay(Map<?, ?> entry, String line, boolean doubt) throws Exception {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            var reply = call("/v1/disbursements", line);
            var data = reply == null ? Map.of() : map(reply.body.get("data"));
            if (reply != null && reply.status == 200 && isMine(data, entry) && entry.get("amount").equals(data.get("amount")))
                return outcome(data);
            // Only the service's errors have a code. A gateway's page says nothing about the payout.
            var refused = reply != null && reply.status >= 400 && reply.status < 500 && reply.body.containsKey("code")
                    && new BigDecimal(reply.status).equals(reply.body.get("statusCode"));
            if (refused && reply.status == 409) {
                var found = find(entry, reply.headers.firstValue("location").orElse(""));
                var pays = pays(found, entry);
                return pays == null ? "unknown" : pays ? outcome(found) : "refused";
            }
            if (refused && reply.status != 429) return doubt ? "unknown" : "refused";
            doubt |= reply == null || reply.status != 429;
            pause(attempt, reply);
        }
        return doubt ? "unknown" : "refused";
    }

    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        // The notes say which entries may have been sent. They are on disk before the request is sent.
        var notes = STATE.isEmpty() ? null : Path.of(STATE, "sent");
        var sent = new HashSet<String>();
        if (notes != null && Files.exists(notes)) sent.addAll(Files.readAllLines(notes));
        var done = new HashSet<String>();
        for (String line; (line = in.readLine()) != null;) {
            var entry = map(new Json(line).read());
            var name = Json.quote((String) entry.get("reference"));
            if (!done.add(name)) continue;
            var doubt = notes == null || sent.contains(name);
            if (notes != null)
                try (var file = FileChannel.open(notes, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
                    file.write(ByteBuffer.wrap(("\n" + name + "\n").getBytes(StandardCharsets.UTF_8)));
                    file.force(true);
                }
            out.println("{\"reference\":" + name + ",\"outcome\":\"" + pay(entry, line, doubt) + "\"}");
        }
        System.exit(0);
    }

    /** Reads JSON. Throws a RuntimeException for anything else. Numbers are BigDecimals, so that no amount is rounded. */
    static class Json {
        final String text;
        int at = 0;

        Json(String text) {
            this.text = text;
        }

        Object read() {
            var value = value();
            if (next() != '\0') throw new IllegalArgumentException("text after the value");
            return value;
        }

        /** Returns the next character that is no white space, without reading it. */
        char next() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : '\0';
        }

        void expect(char wanted) {
            if (next() != wanted) throw new IllegalArgumentException("expected " + wanted);
            at++;
        }

        Object value() {
            switch (next()) {
                case '{': {
                    var map = new HashMap<Object, Object>();
                    at++;
                    while (next() != '}') {
                        if (!map.isEmpty()) expect(',');
                        var name = string();
                        expect(':');
                        map.put(name, value());
                    }
                    at++;
                    return map;
                }
                case '[': {
                    var list = new ArrayList<Object>();
                    at++;
                    while (next() != ']') {
                        if (!list.isEmpty()) expect(',');
                        list.add(value());
                    }
                    at++;
                    return list;
                }
                case '"':
                    return string();
                default: {
                    int start = at;
                    while (at < text.length() && "+-.0123456789eEtrufalsn".indexOf(text.charAt(at)) >= 0) at++;
                    var word = text.substring(start, at);
                    if (word.equals("null")) return null;
                    return word.equals("true") ? Boolean.TRUE : word.equals("false") ? Boolean.FALSE : (Object) new BigDecimal(word);
                }
            }
        }

        String string() {
            expect('"');
            var result = new StringBuilder();
            for (char c; (c = text.charAt(at++)) != '"';) {
                if (c != '\\') result.append(c);
                else if ((c = text.charAt(at++)) == 'u') {
                    result.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                    at += 4;
                } else result.append("bfnrt".indexOf(c) < 0 ? c : "\b\f\n\r\t".charAt("bfnrt".indexOf(c)));
            }
            return result.toString();
        }

        static String quote(String text) {
            var result = new StringBuilder("\"");
            for (char c : text.toCharArray())
                result.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
            return result.append('"').toString();
        }
    }
}
