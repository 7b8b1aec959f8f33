/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Broken and hostile XML: every parser gives a clear error, leaves its output empty, prints nothing, and neither
 * memory nor time run away (a case that did would not come to an end).
 */
#include "xml_test.h"

#include <errno.h>
#include <libxml/xmlerror.h>
#include <pthread.h>
#include <unistd.h>

#include "libvirt/xml_util.h"

/* ---- all parsers by one signature ---- */

/* Parses into a value, which must be as good as cleared after a failure. */
#define PARSE(kind, type, clear)                                                                                       \
    static int32_t parse_##kind(const char *xml)                                                                       \
    {                                                                                                                  \
        struct type value, cleared;                                                                                    \
        memset(&value, 0xa5, sizeof(value));                                                                           \
        memset(&cleared, 0, sizeof(cleared));                                                                          \
        clear(&cleared);                                                                                               \
        int32_t code = kvmig__xml_##kind(xml, "host-a", &value);                                                       \
        if (code < 0)                                                                                                  \
            assert_memory_equal(&value, &cleared, sizeof(value));                                                      \
        else                                                                                                           \
            clear(&value);                                                                                             \
        return code;                                                                                                   \
    }
PARSE(domain, kvmig__domain, kvmig__domain_clear)
PARSE(domain_capabilities, kvmig__emulator, kvmig__emulator_clear)
PARSE(cpu, kvmig__cpu, kvmig__cpu_clear)
PARSE(pool, kvmig__pool, kvmig__pool_clear)
PARSE(volume, kvmig__volume, kvmig__volume_clear)
PARSE(network, kvmig__network, kvmig__network_clear)
PARSE(block_device, kvmig__block_device, kvmig__block_device_clear)

static int32_t parse_capabilities(const char *xml)
{
    struct kvmig__host *host = kvmig__host_new();
    host->uuid = kvmig__strdup("of an earlier reading");
    int32_t code = kvmig__xml_capabilities(xml, "host-a", host);
    if (code < 0)
        assert_true(!host->uuid && !host->arch && !host->machines.n && !host->secure_models.n && !host->cpus);
    kvmig__host_free(host);
    return code;
}

static int32_t parse_retarget(const char *xml)
{
    char *out = NULL;
    int32_t code = kvmig__xml_retarget_disks(xml, "host-a", NULL, NULL, 0, &out);
    assert_int_equal(code < 0, out == NULL);
    free(out);
    return code;
}

static const struct parser {
    int32_t (*parse)(const char *xml);
    const char *root;
} parsers[] = {
    { parse_domain, "domain" },
    { parse_capabilities, "capabilities" },
    { parse_domain_capabilities, "domainCapabilities" },
    { parse_cpu, "cpu" },
    { parse_pool, "pool" },
    { parse_volume, "volume" },
    { parse_network, "network" },
    { parse_block_device, "device" },
    { parse_retarget, "domain" },
};

#define EACH_PARSER(p) for (const struct parser *p = parsers; p < parsers + KVMIG__N_ELEMENTS(parsers); p++)

static void check_refused(const char *xml, const char *message)
{
    EACH_PARSER(p)
    {
        assert_error(p->parse(xml), -KVMIG_EXML, message);
        assert_non_null(strstr(kvmig_error_where(kvmig_error_last()), "host-a"));
    }
}

/* ---- broken ---- */

static void broken_xml_names_place_line_and_cause(void **state)
{
    (void)state;
    check_refused("<domain>\n <name>vm1</name>\n <os>\n</domain>", "Opening and ending tag mismatch");
    const struct kvmig_error *error = kvmig_error_last();
    assert_string_equal(kvmig_error_where(error), "host-a, line 4");
    assert_non_null(strstr(kvmig_error_evidence(error), "tag mismatch"));
}

static void text_that_is_no_xml_is_refused(void **state)
{
    (void)state;
    check_refused("", "the XML of <");
    check_refused(" \n", "the XML of <");
    check_refused("error: failed to connect to the hypervisor", "Start tag expected");
    check_refused("<a/><b/>", "Extra content");
    check_refused("<domain", "the XML of <");
    check_refused("<domain>&undefined;</domain>", "undefined");
    check_refused("<domain a='1' a='2'/>", "Attribute a redefined");
}

static void truncation_anywhere_is_refused(void **state)
{
    (void)state;
    char *text = fixture("8.0/domain-tpm-uefi");
    size_t end = strlen(text);
    while (text[end - 1] != '>')
        end--;
    for (size_t n = 0; n < end; n++) {
        char *piece = kvmig__strndup(text, n);
        assert_int_equal(parse_domain(piece), -KVMIG_EXML);
        free(piece);
    }
    free(text);
}

static void no_text_at_all_is_an_invalid_argument(void **state)
{
    (void)state;
    EACH_PARSER(p)
    assert_error(p->parse(NULL), -EINVAL, "there is no XML of <");
}

static void another_root_is_named_with_the_expected_one(void **state)
{
    (void)state;
    EACH_PARSER(p)
    {
        char *expected = kvmig__asprintf("expected <%s>, found <guest>", p->root);
        assert_error(p->parse("<guest><domain/></guest>"), -KVMIG_EXML, expected);
        free(expected);
        char *text = kvmig__asprintf("<%s xmlns='urn:other'/>", p->root);
        expected = kvmig__asprintf("expected <%s>, found <%s> in a namespace", p->root, p->root);
        assert_error(p->parse(text), -KVMIG_EXML, expected);
        free(expected);
        free(text);
    }
}

static void text_that_is_not_utf8_is_refused(void **state)
{
    (void)state;
    check_refused("<domain><name>\xff\xfe</name></domain>", "it is not UTF-8");
    check_refused("<?xml version='1.0' encoding='ISO-8859-1'?><domain><name>\xe4</name></domain>", "it is not UTF-8");
}

static void the_encoding_of_the_declaration_is_ignored(void **state)
{
    (void)state;
    struct kvmig__domain domain;
    const char *text = "<?xml version='1.0' encoding='no-such'?><domain><name>\xc3\xa4</name></domain>";
    assert_int_equal(kvmig__xml_domain(text, "test", &domain), 0);
    assert_text(domain.name, "\xc3\xa4");
    kvmig__domain_clear(&domain);
}

/* ---- document type declarations ---- */

static void a_doctype_is_refused_before_it_is_looked_at(void **state)
{
    (void)state;
    check_refused("<!DOCTYPE domain>\n<domain/>", "DOCTYPE");
    check_refused("<!DOCTYPE domain SYSTEM 'file:///etc/passwd'><domain/>", "DOCTYPE");
    check_refused("<!DOCTYPE domain [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><domain><name>&x;</name></domain>",
                  "DOCTYPE");
    check_refused("<!DOCTYPE domain [<!ENTITY % x SYSTEM 'http://127.0.0.1:1/'> %x;]><domain/>", "DOCTYPE");
    check_refused("<!DOCTYPE domain [ broken", "DOCTYPE");
}

static void billion_laughs_are_not_expanded(void **state)
{
    (void)state;
    FILE *file;
    char *text = NULL;
    size_t size = 0;
    file = open_memstream(&text, &size);
    fputs("<!DOCTYPE domain [<!ENTITY l0 'lol'>", file);
    for (int i = 1; i < 30; i++) {
        fprintf(file, "<!ENTITY l%d '", i);
        for (int j = 0; j < 10; j++)
            fprintf(file, "&l%d;", i - 1);
        fputs("'>", file);
    }
    fputs("]><domain><name a='&l29;'>&l29;</name></domain>", file);
    fclose(file);
    check_refused(text, "DOCTYPE");
    free(text);
}

static void the_word_doctype_elsewhere_is_no_declaration(void **state)
{
    (void)state;
    assert_int_equal(
        parse_domain("<domain><!-- <!DOCTYPE x> --><description><![CDATA[<!DOCTYPE x>]]></description></domain>"), 0);
}

/* ---- too much ---- */

/* head, then n times piece, then tail. */
static char *repeated(const char *head, const char *piece, size_t n, const char *tail)
{
    size_t length = strlen(piece);
    char *text = kvmig__calloc(strlen(head) + n * length + strlen(tail) + 1, 1);
    char *end = stpcpy(text, head);
    for (size_t i = 0; i < n; i++, end += length)
        memcpy(end, piece, length);
    memcpy(end, tail, strlen(tail));
    return text;
}

static void check_repeated(const char *head, const char *piece, size_t n, const char *tail, const char *message)
{
    char *text = repeated(head, piece, n, tail);
    check_refused(text, message);
    free(text);
}

static void more_than_16_mib_are_refused(void **state)
{
    (void)state;
    check_repeated("<domain><name>", "0123456789abcdef", 1 << 20, "</name></domain>", "larger than 16 MiB");
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    check_repeated("<domain>", "<a>", KVMIG__XML_MAX_DEPTH, "", "nested too deeply");
    check_repeated("<domain>", "<a>", 1000000, "", "nested too deeply");
    char *tail = repeated("", "</a>", KVMIG__XML_MAX_DEPTH - 1, "</domain>");
    char *text = repeated("<domain>", "<a>", KVMIG__XML_MAX_DEPTH - 1, tail);
    assert_int_equal(parse_domain(text), 0); /* as deep as allowed */
    free(text);
    free(tail);
}

static void a_chain_as_deep_as_allowed_is_read(void **state)
{
    (void)state;
    enum { IMAGES = KVMIG__XML_MAX_DEPTH - 4 };
    struct kvmig__domain domain;
    char *tail = repeated("", "</backingStore>", IMAGES, "</disk></devices></domain>");
    char *text = repeated("<domain><devices><disk>", "<backingStore type='file'><source file='/a'/>", IMAGES, tail);
    assert_int_equal(kvmig__xml_domain(text, "test", &domain), 0);
    assert_int_equal(domain.disks.v[0].backing.n, IMAGES);
    kvmig__domain_clear(&domain);
    free(text);
    free(tail);
}

/* head, then n times the piece with its number in place of each '#', then tail. */
static char *numbered(const char *head, const char *piece, int n, const char *tail)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    fputs(head, file);
    for (int i = 0; i < n; i++) {
        for (const char *c = piece; *c != '\0'; c++) {
            if (*c == '#')
                fprintf(file, "%x", (unsigned)i);
            else
                fputc(*c, file);
        }
    }
    fputs(tail, file);
    fclose(file);
    return text;
}

static void too_many_attributes_or_namespaces_are_refused(void **state)
{
    (void)state;
    char *text = numbered("<domain", " a#=''", 1000000, "/>");
    check_refused(text, "too many attributes");
    free(text);
    text = numbered("", "<a xmlns:p#='urn:#' xmlns:q#='urn:q#' xmlns:r#='urn:r#'>", 100, "");
    check_refused(text, "too many namespaces");
    free(text);
}

static void many_attributes_in_quotes_or_comments_are_fine(void **state)
{
    (void)state;
    assert_int_equal(parse_domain("<domain a='x=\"1\" y=\"2\">' b=\"it's\"><!-- don't count 'these' --></domain>"), 0);
    char *text = repeated("<domain>", "<a b='1' c='2' d='3'/>", 100000, "</domain>");
    assert_int_equal(parse_domain(text), 0);
    free(text);
    text = repeated("<domain>", "<a xmlns:p='urn:p'/>", 10000, "</domain>"); /* never more than one in scope */
    assert_int_equal(parse_domain(text), 0);
    free(text);
}

/* Many elements of each kind that is collected, sorted or looked up. */
static void long_lists_are_read_in_reasonable_time(void **state)
{
    (void)state;
    static const struct {
        const char *head, *piece, *tail;
    } cases[] = {
        { "<capabilities><host/><guest><arch name='x'>", "<machine>m</machine>", "</arch></guest></capabilities>" },
        { "<domainCapabilities><cpu><mode name='custom' supported='yes'>", "<model>m</model><blockers model='m'/>",
          "</mode></cpu></domainCapabilities>" },
        { "<domain><devices>", "<disk/><interface/><hostdev/>", "</devices></domain>" },
        { "<domain><numatune>", "<memnode nodeset='1'/>", "</numatune></domain>" },
        { "<pool><source>", "<host name='h'/><device path='p'/>", "</source></pool>" },
        { "<network>", "<portgroup name='p'/>", "</network>" },
        { "<device><capability type='storage'/>", "<devnode>/dev/a</devnode>", "</device>" },
        { "<cpu>", "<feature name='f'/>", "</cpu>" },
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        bool read = false;
        char *text = repeated(cases[i].head, cases[i].piece, 3000, cases[i].tail);
        EACH_PARSER(p)
        read = p->parse(text) == 0 || read;
        assert_true(read);
        free(text);
    }
}

/* ---- values ---- */

static void check_value(int32_t (*parse)(const char *), const char *xml, const char *message)
{
    assert_error(parse(xml), -KVMIG_EXML, message);
    assert_string_equal(kvmig_error_where(kvmig_error_last()), "host-a, line 1");
}

static void numbers_that_are_none_name_their_element(void **state)
{
    (void)state;
    check_value(parse_domain, "<domain><memory>12x</memory></domain>",
                "<memory> is \"12x\", which is not a whole number");
    check_value(parse_domain, "<domain><memory>-1</memory></domain>", "<memory> is \"-1\"");
    check_value(parse_domain, "<domain><memory>1.5</memory></domain>", "<memory> is \"1.5\"");
    check_value(parse_domain, "<domain><memory> </memory></domain>", "<memory> is \" \"");
    check_value(parse_domain, "<domain><memory unit='parsec'>1</memory></domain>", "unit of <memory> is \"parsec\"");
    check_value(parse_domain, "<domain><memory unit='KiBs'>1</memory></domain>", "unit of <memory>");
    check_value(parse_domain, "<domain><vcpu>4294967296</vcpu></domain>",
                "<vcpu> is \"4294967296\", which is too large");
    check_value(parse_domain, "<domain><vcpu current='two'>4</vcpu></domain>", "current of <vcpu> is \"two\"");
    check_value(parse_domain, "<domain><clock><timer name='tsc' frequency='fast'/></clock></domain>",
                "frequency of <timer>");
    check_value(parse_domain, "<domain><memoryBacking><hugepages><page size='x'/></hugepages></memoryBacking></domain>",
                "size of <page>");
    check_value(parse_volume, "<volume><capacity>many</capacity></volume>", "<capacity> is \"many\"");
    check_value(parse_pool, "<pool><available>1e9</available></pool>", "<available> is \"1e9\"");
    check_value(parse_block_device, "<device><capability type='storage'><size>big</size></capability></device>",
                "<size>");
    check_value(
        parse_capabilities,
        "<capabilities><host><topology><cells><cell><cpus num='-2'/></cell></cells></topology></host></capabilities>",
        "num of <cpus> is \"-2\"");
}

static void numbers_that_overflow_name_their_element(void **state)
{
    (void)state;
    check_value(parse_domain, "<domain><memory>18446744073709551616</memory></domain>", "not a whole number from 0 to");
    check_value(parse_domain, "<domain><memory>18446744073709551614</memory></domain>",
                "<memory> is too large to be counted");
    check_value(parse_domain, "<domain><memory unit='EiB'>16</memory></domain>", "<memory> is too large to be counted");
    check_value(parse_volume, "<volume><capacity unit='EB'>19</capacity></volume>", "<capacity> is too large");
    check_value(
        parse_capabilities,
        "<capabilities><host><cpu><topology sockets='65535' dies='65535' cores='65535' threads='65535'/></cpu></host>"
        "</capabilities>",
        "more CPUs than any host has");
}

static void units_count_as_libvirt_has_them(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        uint64_t bytes;
    } cases[] = {
        { "b", 3 },
        { "bytes", 3 },
        { "k", 3 << 10 },
        { "KiB", 3 << 10 },
        { "KB", 3000 },
        { "M", 3 << 20 },
        { "mib", 3 << 20 },
        { "MB", 3000000 },
        { "G", (uint64_t)3 << 30 },
        { "GiB", (uint64_t)3 << 30 },
        { "TiB", (uint64_t)3 << 40 },
        { "TB", 3000000000000 },
        { "PiB", (uint64_t)3 << 50 },
        { "EiB", (uint64_t)3 << 60 },
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(cases); i++) {
        struct kvmig__volume volume;
        char *text = kvmig__asprintf("<volume><capacity unit='%s'>\n 3 </capacity></volume>", cases[i].unit);
        assert_int_equal(kvmig__xml_volume(text, "test", &volume), 0);
        assert_true(volume.capacity == cases[i].bytes);
        kvmig__volume_clear(&volume);
        free(text);
    }
    struct kvmig__domain domain;
    assert_int_equal(kvmig__xml_domain("<domain><memory>3</memory></domain>", "test", &domain), 0);
    assert_int_equal(domain.memory, 3 << 10); /* KiB without a unit */
    kvmig__domain_clear(&domain);
}

/* ---- the rest of the process ---- */

static void collect(void *data, const char *format, ...)
{
    (void)format;
    ++*(int *)data;
}

static void nothing_is_printed_and_global_handlers_are_not_used(void **state)
{
    (void)state;
    int calls = 0, ends[2];
    char byte;
    xmlSetGenericErrorFunc(&calls, collect);
    assert_int_equal(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    parse_domain("<domain><a></domain>");
    parse_domain("<!DOCTYPE x [<!ENTITY a 'b'>]><domain/>");
    parse_domain("<?xml version='1.0' encoding='no-such'?><domain>\xff</domain>");
    parse_domain("<p:domain/>");
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    xmlSetGenericErrorFunc(NULL, NULL);
    close(saved);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    assert_int_equal(calls, 0);
}

static void *parse_often(void *text)
{
    for (int i = 0; i < 200; i++) {
        parse_domain(text);
        parse_domain("<domain><broken></domain>");
    }
    return NULL;
}

static void threads_parse_at_the_same_time(void **state)
{
    (void)state;
    pthread_t threads[4];
    char *text = fixture("9.0/domain-interfaces");
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, parse_often, text), 0);
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_parse_at_the_same_time), /* first: the library must be initialised by one of them */
        cmocka_unit_test(broken_xml_names_place_line_and_cause),
        cmocka_unit_test(text_that_is_no_xml_is_refused),
        cmocka_unit_test(truncation_anywhere_is_refused),
        cmocka_unit_test(no_text_at_all_is_an_invalid_argument),
        cmocka_unit_test(another_root_is_named_with_the_expected_one),
        cmocka_unit_test(text_that_is_not_utf8_is_refused),
        cmocka_unit_test(the_encoding_of_the_declaration_is_ignored),
        cmocka_unit_test(a_doctype_is_refused_before_it_is_looked_at),
        cmocka_unit_test(billion_laughs_are_not_expanded),
        cmocka_unit_test(the_word_doctype_elsewhere_is_no_declaration),
        cmocka_unit_test(more_than_16_mib_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_chain_as_deep_as_allowed_is_read),
        cmocka_unit_test(too_many_attributes_or_namespaces_are_refused),
        cmocka_unit_test(many_attributes_in_quotes_or_comments_are_fine),
        cmocka_unit_test(long_lists_are_read_in_reasonable_time),
        cmocka_unit_test(numbers_that_are_none_name_their_element),
        cmocka_unit_test(numbers_that_overflow_name_their_element),
        cmocka_unit_test(units_count_as_libvirt_has_them),
        cmocka_unit_test(nothing_is_printed_and_global_handlers_are_not_used),
    };
    return !!cmocka_run_group_tests(tests, NULL, NULL);
}
