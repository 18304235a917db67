/*
 * Runs a command and writes down every address that it or a process that it starts connects to, sends to or listens
 * on, one line each: "connect COMM ADDRESS", "send COMM ADDRESS", "listen COMM ADDRESS", "ask COMM NAME" for a question
 * to a name server, "ring COMM -" for an io_uring, through which calls could pass unseen.
 *
 *   recorder FILE [--apart] COMMAND...
 *
 * With --apart in a network of its own that has no interface but its loopback, to which every address leads. Exits with
 * the command's code; 120 where this system does not let it record, 121 where it does not let it set the network apart,
 * with a sentence.
 *
 * The kernel hands over each of these system calls before it is carried out (seccomp_unotify(2)). Functions that are
 * interposed with LD_PRELOAD lost: they do not see a program that makes its system calls by itself or is linked
 * statically.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif
#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif
/* Of a message: what is looked at for a question. */
#define PAYLOAD_MAX 512
/* How long processes that outlive the command are recorded. */
#define LEFT_MS_MAX 3000

static FILE *record;

static void fail(int code, const char *what) {
  fprintf(stderr, "%s (%s)\n", what, strerror(errno));
  exit(code);
}

/*
 * Makes every address of IPv4 one of this machine, where nothing listens: a connection is refused at once instead of
 * being waited for, and a question to a name server is asked, and so recorded.
 */
static void route_everything_here(unsigned loopback) {
  struct {
    struct nlmsghdr head;
    struct rtmsg route;
    struct rtattr key;
    uint32_t value;
  } add = {
      .head = {.nlmsg_len = sizeof add,
               .nlmsg_type = RTM_NEWROUTE,
               .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK},
      .route = {.rtm_family = AF_INET,
                .rtm_table = RT_TABLE_LOCAL,
                .rtm_protocol = RTPROT_BOOT,
                .rtm_scope = RT_SCOPE_HOST,
                .rtm_type = RTN_LOCAL},
      .key = {.rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF},
      .value = loopback,
  };
  struct {
    struct nlmsghdr head;
    struct nlmsgerr outcome;
  } reply = {0};
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0 || send(fd, &add, sizeof add, 0) != sizeof add || recv(fd, &reply, sizeof reply, 0) <= 0) {
    fail(121, "the new network takes no route");
  }
  errno = -reply.outcome.error;
  if (errno != 0) fail(121, "the new network takes no route");
  close(fd);
}

/* A network without interfaces, its loopback up. As oneself: files keep their owners. */
static void set_apart(void) {
  uid_t uid = getuid();
  gid_t gid = getgid();
  if (unshare(CLONE_NEWNET) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) fail(121, "this system gives no network of one's own");
    char line[64];
    const char *names[] = {"/proc/self/setgroups", "/proc/self/uid_map", "/proc/self/gid_map"};
    for (int i = 0; i < 3; i++) {
      int fd = open(names[i], O_WRONLY | O_CLOEXEC);
      unsigned id = i == 1 ? uid : gid;
      int length = i == 0 ? snprintf(line, sizeof line, "deny") : snprintf(line, sizeof line, "%u %u 1", id, id);
      if (fd < 0 || write(fd, line, (size_t)length) != length) fail(121, "this system maps no user");
      close(fd);
    }
  }
  struct ifreq loopback = {.ifr_name = "lo"};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &loopback) != 0) fail(121, "the new network has no loopback");
  loopback.ifr_flags |= IFF_UP;
  if (ioctl(fd, SIOCSIFFLAGS, &loopback) != 0) fail(121, "the new network's loopback does not start");
  close(fd);
  route_everything_here(if_nametoindex("lo"));
}

/* Has the kernel hand over the calls. Returns the descriptor that they are read from. */
static int hand_over(void) {
  static const unsigned calls[] = {
      __NR_connect, __NR_sendto, __NR_sendmsg, __NR_sendmmsg, __NR_listen, __NR_io_uring_setup,
  };
  enum { COUNT = sizeof calls / sizeof *calls };
  struct sock_filter filter[COUNT + 8];
  unsigned at = 0;
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
  filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0);
  /* The numbers of another architecture mean other calls: none passes unseen. */
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
  for (unsigned i = 0; i < COUNT; i++)
    filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], (uint8_t)(COUNT - i), 0);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  struct sock_fprog program = {.len = (unsigned short)at, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* A line of /proc for a thread: its name, or the number behind "Tgid:". */
static void of_thread(uint32_t pid, const char *file, const char *key, char *out, size_t room) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%u/%s", pid, file);
  snprintf(out, room, "?");
  FILE *from = fopen(path, "re");
  while (from && fgets(line, sizeof line, from)) {
    if (strncmp(line, key, strlen(key)) != 0) continue;
    snprintf(out, room, "%s", line + strlen(key));
    out[strcspn(out, "\n")] = 0;
    break;
  }
  if (from) fclose(from);
}

/* The process's own descriptor, in this process; -1 where it cannot be had. */
static int same_socket(uint32_t thread, int fd) {
  char process[32];
  of_thread(thread, "status", "Tgid:", process, sizeof process);
  int pidfd = (int)syscall(__NR_pidfd_open, atoi(process), 0);
  if (pidfd < 0) return -1;
  int same = (int)syscall(__NR_pidfd_getfd, pidfd, fd, 0);
  close(pidfd);
  return same;
}

static size_t copy_from(uint32_t pid, uint64_t at, void *to, size_t bytes) {
  struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)at, bytes};
  ssize_t count = at == 0 ? 0 : process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0);
  return count < 0 ? 0 : (size_t)count;
}

static void write_down(const char *what, uint32_t pid, const char *where) {
  char name[32];
  of_thread(pid, "comm", "", name, sizeof name);
  for (char *c = name; *c; c++)
    if (*c <= ' ') *c = '_';
  fprintf(record, "%s %s %s\n", what, name, where);
  fflush(record);
}

/* An address as text: 127.0.0.1:80, [::1]:80, unix:/path, unix:@abstract, family:N. */
static void address_text(const struct sockaddr_storage *address, size_t length, char *out, size_t room) {
  char host[INET6_ADDRSTRLEN] = "?";
  if (address->ss_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
    const struct sockaddr_in *in = (const void *)address;
    inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
    snprintf(out, room, "%s:%u", host, ntohs(in->sin_port));
  } else if (address->ss_family == AF_INET6 && length >= sizeof(struct sockaddr_in6)) {
    const struct sockaddr_in6 *in = (const void *)address;
    inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host);
    snprintf(out, room, "[%s]:%u", host, ntohs(in->sin6_port));
  } else if (address->ss_family == AF_UNIX) {
    const struct sockaddr_un *un = (const void *)address;
    size_t most = length > offsetof(struct sockaddr_un, sun_path) ? length - offsetof(struct sockaddr_un, sun_path) : 0;
    int isAbstract = most > 0 && un->sun_path[0] == 0;
    size_t used = isAbstract ? most - 1 : strnlen(un->sun_path, most);
    snprintf(out, room, "unix:%s%.*s", isAbstract ? "@" : "", (int)used, un->sun_path + isAbstract);
  } else {
    snprintf(out, room, "family:%u", address->ss_family);
  }
  for (char *c = out; *c; c++)
    if ((unsigned char)*c <= ' ') *c = '_';
}

/* The name in a question to a name server (RFC 1035 section 4.1); 0 where the bytes are no such question. */
static int question(const uint8_t *bytes, size_t length, char *out, size_t room) {
  if (length < 17 || (bytes[2] & 0xf8) != 0 || bytes[4] != 0 || bytes[5] != 1 || bytes[6] || bytes[7]) return 0;
  size_t used = 0;
  for (size_t at = 12; at < length && bytes[at] != 0; at += 1u + bytes[at]) {
    size_t label = bytes[at];
    if (label > 63 || at + 1 + label >= length || used + label + 2 > room) return 0;
    for (size_t i = 0; i < label; i++) {
      uint8_t c = bytes[at + 1 + i];
      out[used++] = c > ' ' && c < 127 ? (char)c : '?';
    }
    out[used++] = '.';
  }
  out[used > 0 ? used - 1 : 0] = 0;
  return used > 0;
}

/* One message: its address where it has one or its socket needs none, and the name that it asks for. */
static void sent(uint32_t pid, int fd, uint64_t to, size_t length, const uint8_t *payload, size_t bytes) {
  struct sockaddr_storage address = {0};
  socklen_t known = sizeof address;
  char text[512];
  int kind = 0, domain = 0;
  socklen_t size = sizeof kind;
  int same = same_socket(pid, fd);
  getsockopt(same, SOL_SOCKET, SO_TYPE, &kind, &size);
  getsockopt(same, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  int isNamed = length > 0 && copy_from(pid, to, &address, length < sizeof address ? length : sizeof address) > 0;
  int isDatagram = kind == SOCK_DGRAM && (domain == AF_INET || domain == AF_INET6);
  if (isNamed) {
    address_text(&address, length, text, sizeof text);
  } else if (isDatagram && getpeername(same, (struct sockaddr *)&address, &known) == 0) {
    address_text(&address, known, text, sizeof text);
  }
  if (isNamed || isDatagram) write_down("send", pid, text);
  if (isDatagram && question(payload, bytes, text, sizeof text)) write_down("ask", pid, text);
  if (same >= 0) close(same);
}

static void sent_message(uint32_t pid, int fd, uint64_t at) {
  struct msghdr message;
  struct iovec part;
  uint8_t payload[PAYLOAD_MAX];
  if (copy_from(pid, at, &message, sizeof message) != sizeof message) return;
  size_t bytes = 0;
  if (message.msg_iovlen > 0 && copy_from(pid, (uintptr_t)message.msg_iov, &part, sizeof part) == sizeof part)
    bytes = copy_from(pid, (uintptr_t)part.iov_base, payload, part.iov_len < PAYLOAD_MAX ? part.iov_len : PAYLOAD_MAX);
  sent(pid, fd, (uintptr_t)message.msg_name, message.msg_namelen, payload, bytes);
}

static void note(const struct seccomp_notif *call) {
  struct sockaddr_storage address = {0};
  uint8_t payload[PAYLOAD_MAX];
  char text[512] = "?";
  const uint64_t *args = (const uint64_t *)call->data.args;
  int fd = (int)args[0];
  switch (call->data.nr) {
  case __NR_connect: {
    size_t length = args[2] < sizeof address ? args[2] : sizeof address;
    if (copy_from(call->pid, args[1], &address, length) > 0) address_text(&address, length, text, sizeof text);
    write_down("connect", call->pid, text);
    break;
  }
  case __NR_listen: {
    socklen_t length = sizeof address;
    int same = same_socket(call->pid, fd);
    if (getsockname(same, (struct sockaddr *)&address, &length) == 0) address_text(&address, length, text, sizeof text);
    write_down("listen", call->pid, text);
    if (same >= 0) close(same);
    break;
  }
  case __NR_sendto: {
    size_t bytes = copy_from(call->pid, args[1], payload, args[2] < PAYLOAD_MAX ? args[2] : PAYLOAD_MAX);
    sent(call->pid, fd, args[4], args[4] == 0 ? 0 : args[5], payload, bytes);
    break;
  }
  case __NR_sendmsg: sent_message(call->pid, fd, args[1]); break;
  case __NR_sendmmsg:
    for (uint64_t i = 0; i < args[2] && i < 64; i++) sent_message(call->pid, fd, args[1] + i * sizeof(struct mmsghdr));
    break;
  default: write_down("ring", call->pid, "-");
  }
}

/* Answers each call with "go on" once it is written down. Returns the command's code. */
static int keep_record(pid_t command, int calls) {
  int code = -1, left = LEFT_MS_MAX;
  for (;;) {
    int status;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == command) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    struct pollfd ready = {.fd = calls, .events = POLLIN};
    int found = poll(&ready, 1, 50);
    if (found > 0 && (ready.revents & POLLIN)) {
      union {
        struct seccomp_notif call;
        char room[512];
      } got = {0};
      union {
        struct seccomp_notif_resp answer;
        char room[512];
      } reply = {0};
      if (ioctl(calls, SECCOMP_IOCTL_NOTIF_RECV, &got.call) != 0) continue;
      note(&got.call);
      reply.answer.id = got.call.id;
      reply.answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
      ioctl(calls, SECCOMP_IOCTL_NOTIF_SEND, &reply.answer);
      continue;
    }
    int isOver = found > 0 && (ready.revents & (POLLHUP | POLLERR));
    if (code >= 0 && (isOver || (left -= 50) <= 0)) return code;
    if (isOver) usleep(1000);
  }
}

int main(int count, char **words) {
  int isApart = count > 2 && strcmp(words[2], "--apart") == 0;
  char **command = words + 2 + isApart;
  if (count < 3 + isApart || !(record = fopen(words[1], "we"))) fail(120, "usage: recorder FILE [--apart] COMMAND...");
  int told[2], ready[2];
  if (pipe2(told, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0) fail(120, "no pipe");
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  pid_t child = fork();
  if (child == 0) {
    if (isApart) set_apart();
    int calls = hand_over();
    char go;
    if (write(told[1], &calls, sizeof calls) != sizeof calls || read(ready[0], &go, 1) != 1) exit(120);
    close(calls);
    execvp(command[0], command);
    fail(127, command[0]);
  }
  close(told[1]);
  int theirs = -1, status, calls = -1;
  if (read(told[0], &theirs, sizeof theirs) != sizeof theirs) {
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 120;
  }
  if (theirs >= 0) calls = same_socket((uint32_t)child, theirs);
  if (calls < 0) {
    kill(child, SIGKILL);
    fail(120, "this system hands over no system calls");
  }
  if (write(ready[1], "g", 1) != 1) return 120;
  return keep_record(child, calls);
}
