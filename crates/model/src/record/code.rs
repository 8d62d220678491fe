//! Codes for programs, one for each sentence that a person reads: in kebab-case, and stable.
//!
//! Each code is documented by one sentence, which is printed in the schema and in docs/codes.md.

/// Defines an enum of codes, and a list with the sentence of each code. The sentence is the variant's comment.
macro_rules! codes {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $sentence:literal])+ $variant:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[doc = $sentence])+ $variant,)+
        }

        impl $name {
            /// Every code with its sentence, in the order of the documentation.
            pub const ALL: &[(Self, &str)] = &[$((Self::$variant, concat!($($sentence),+)),)+];
        }
    };
}
pub(super) use codes;

codes! {
    /// The result of a point of `looptax check`.
    PointCode {
        /// A known server listens on the port.
        ServerListens,
        /// No known server was seen on the port.
        ServerNotSeen,
        /// Nothing listens on the port.
        NothingListens,
        /// Something listens on the port, but looptax cannot see what.
        ListenerUnknown,
        /// The server that listens on the port does not speak the protocol that the address names.
        ListenerOfAnotherKind,
        /// The host is another machine.
        ServerElsewhere,
        /// The host is the name of a container of a Compose file.
        ServerInContainer,
        /// The host is the loopback address of a container, whose server looptax cannot query from here.
        LoopbackOfContainer,
        /// The driver ignores the port because the host is `localhost`, and the socket that the driver uses instead
        /// belongs to another server.
        PortIgnored,
        /// libpq reads parameters from a service file.
        ServiceRead,
        /// A variable is set in looptax's own environment; in a program with the same environment it would decide where
        /// libpq connects, or whether libpq uses a socket.
        VariableDecides,
        /// Closed connections hold a large part of the ports towards the server, and new connections may fail.
        PortsHeld,
        /// The server listens only on TCP.
        SocketMissing,
        /// A planned change in the server's own file makes the server listen on a socket.
        SocketToBeMade,
        /// The server cannot make a socket in the folder that is planned for it, or the folder does not let the client
        /// through.
        FolderUnfit,
        /// The application's program, or the user that it runs as, is not known.
        ClientUnknown,
        /// Programs that will not be moved are connected to a port that the server gives up for the socket.
        OthersAtPort,
        /// The client can connect to the socket.
        SocketReachable,
        /// The client cannot see the socket, or a folder on the path to it.
        SocketNotVisible,
        /// There is no file at the path, and no process listens on a socket of that name.
        SocketAbsent,
        /// No volume of the Compose file mounts the socket's folder into the container.
        FolderNotInContainer,
        /// The path is inside a container, and looptax does not know what is there.
        SocketInContainer,
        /// The path is in a volume that the Compose file defines.
        SocketInVolume,
        /// A setting of the systemd unit forbids the unit's program to use Unix sockets.
        UnitForbidsSockets,
        /// A setting of the systemd unit hides the socket from the unit's program.
        UnitHidesSocket,
        /// The user of the systemd unit does not exist on this machine.
        UnitUserUnknown,
        /// A folder on the path to the socket does not let the client through.
        FolderDenied,
        /// The permissions of the socket's file keep the client out.
        SocketDenied,
        /// The file at the path is not a socket.
        NotASocket,
        /// No process listens on the socket.
        SocketDeserted,
        /// The socket's queue of connections is full at the moment.
        BacklogFull,
        /// The path is longer than the kernel accepts.
        PathTooLong,
        /// The permissions allow the connection, but a security module denies it.
        ConfinementDenies,
        /// looptax could not try whether the client can reach the socket.
        PathNotTried,
        /// The socket does not exist yet; its permissions will let the client connect.
        SocketWillLetIn,
        /// Something already exists at the path where the socket is to be made.
        PathTaken,
        /// Other programs connect to the same port, on which no process would listen any more.
        PortUsedByOthers,
        /// The driver's usual socket, which it uses for `localhost`, cannot be reached.
        UsualSocketUnreachable,
        /// No security module confines the client.
        NotConfined,
        /// The client is confined, and looptax does not know what its policy allows.
        Confined,
        /// looptax cannot determine whether the client is confined.
        ConfinementUnknown,
        /// Both endpoints belong to the same server.
        ServerSame,
        /// The endpoints belong to two different servers.
        ServersDiffer,
        /// It is not known whether both endpoints belong to the same server.
        ServerSameUnknown,
        /// The account is the same over both transports, with the same rights.
        AccountSame,
        /// The client gets another account over the socket, with all rights of the account over TCP.
        AccountDiffers,
        /// The client gets another account over the socket, with more rights than the account over TCP.
        AccountGetsMore,
        /// An account can log in over TCP, but no account can log in over the socket.
        AccountMissing,
        /// An account can log in over the socket, but no account can log in over TCP.
        AccountSocketOnly,
        /// The login fails over both transports, so nothing is known about the account.
        AccountUnknown,
        /// The account over the socket lacks rights that the account over TCP has.
        RightsMissing,
        /// The account over the socket lacks rights that no statement can add, because a grant for a pattern of
        /// databases takes precedence over added rights.
        RightsHidden,
        /// The user or the password is not known, so no login was tried.
        CredentialsUnknown,
        /// No login was tried over the socket, because the socket was not reached.
        LoginNotTried,
        /// No login was tried, because nothing shows that the server listens at this address.
        PeerUnproved,
        /// The server accepts the login but gives unusable answers to queries, so nothing is known about the account.
        AnswersUnfit,
        /// The address sets a condition for libpq, and a connection over the socket meets it.
        ConditionMet,
        /// The address sets a condition for libpq, and no connection over the socket meets it.
        ConditionUnmet,
        /// The address sets a condition for libpq, and it is not known whether a connection over the socket meets it.
        ConditionUnknown,
        /// The login works over both transports.
        LoginWorks,
        /// The login works over TCP and fails over the socket.
        LoginFailsOverSocket,
        /// The login works over TCP and fails over the socket, but looptax did not try the login as the client's system
        /// user.
        LoginFailsForUs,
        /// The login works over the socket and fails over TCP.
        LoginFailsOverTcp,
        /// The login fails over both transports.
        LoginFails,
        /// The account demands TLS on the socket, too.
        AccountDemandsTls,
        /// The URL demands TLS, or the server demands TLS over TCP, but the server's socket does not offer TLS.
        TlsNotOnSocket,
        /// The URL demands TLS, or the server demands TLS over TCP; with some drivers, connections over the socket may
        /// then still use TLS.
        TlsOnSocket,
        /// At the moment, sessions on the socket are encrypted.
        SessionsSealedOnSocket,
        /// At the moment, sessions from this machine over TCP are encrypted.
        SessionsSealedOverTcp,
        /// The server demands a secure transport, and a socket counts as one.
        SocketCountsAsSecure,
        /// The account's plugin fails with some drivers while the password is not in the server's cache.
        PasswordCacheCold,
        /// `pg_hba.conf` was not found, or looptax may not read it.
        HbaNotReadable,
        /// No `local` line of `pg_hba.conf` is valid for this user and database.
        HbaLineMissing,
        /// It is not certain which line of `pg_hba.conf` decides.
        HbaLineUnsure,
        /// The line of `pg_hba.conf` that applies refuses connections over the socket.
        HbaRejects,
        /// The line of `pg_hba.conf` that applies accepts the accounts of a user name map.
        HbaMapUnknown,
        /// The line of `pg_hba.conf` that applies accepts another system user than the client's.
        HbaPeerDiffers,
        /// The line of `pg_hba.conf` that applies accepts the client's system user.
        HbaPeerSame,
        /// The line of `pg_hba.conf` that applies accepts every user without a password.
        HbaTrust,
        /// The line of `pg_hba.conf` that applies requires a password, as over TCP.
        HbaPassword,
        /// The socket's queue is long enough for a burst of connections.
        BacklogEnough,
        /// The socket's queue is too short for a burst of connections.
        BacklogShort,
        /// The socket's queue is too short for a burst of connections, but the client waits until there is space.
        BacklogWaits,
        /// It is not known how many connections arrive together, or how many may wait.
        BacklogUnknown,
        /// Tools that see only TCP connections no longer see these connections.
        TcpToolsBlind,
        /// The configuration already uses the socket.
        TakesSocket,
        /// The present configuration does not reach a server, or does not reach the socket that it names.
        ReachesNothing,
        /// The configuration uses TCP.
        TakesTcp,
        /// The configuration uses TCP, to a server whose protocol looptax does not speak.
        TakesTcpUnspoken,
        /// It is not known which transport the configuration uses.
        TransportUnknown,
        /// The process is connected over TCP, and it is not known which file contains the address.
        ConnectedOverTcp,
    }
}

codes! {
    /// The fact that a note of `looptax find` reports.
    NoteCode {
        /// looptax may not inspect processes of other users.
        ProcessesHidden,
        /// looptax may not inspect the network namespaces of containers.
        NamespacesClosed,
        /// The list of sockets has a form that looptax does not understand.
        SocketsUnread,
        /// A server listens only on TCP.
        SocketMissing,
        /// Many connections over TCP are opened and closed after a short time.
        ConnectionsShortLived,
        /// The file of a server's socket was deleted while the server runs.
        SocketLost,
        /// The file of a server's socket was replaced by another file while the server runs.
        SocketReplaced,
        /// No process listens on a socket that a server left.
        SocketDeserted,
        /// A client that uses TCP cannot see its server's socket.
        SocketNotVisible,
        /// A client that uses TCP sees its server's socket, but not at the path at which the server sees it.
        SocketAtOtherPath,
        /// The cost of a request over TCP was measured, but the measurement gave no usable figure.
        CostNotMeasured,
        /// A process uses TCP again, although a switch moved processes like this one to the socket.
        FellBack,
        /// The requests of some processes were not counted, because looptax reached its limit of processes.
        HopsLost,
        /// Connections on a server's socket are encrypted.
        SealedOnSocket,
        /// Connections over TCP within this machine are encrypted.
        SealedOverTcp,
    }
}

codes! {
    /// The result of a step of `looptax switch`.
    StepCode {
        /// The files are written.
        FilesWritten,
        /// The server's own file was written; the application's file will be written next.
        ServerFileWritten,
        /// A file could not be written; all files are as they were.
        FilesNotWritten,
        /// The user's reload command has run.
        Reloaded,
        /// The user's reload command failed.
        ReloadFailed,
        /// The user gave no reload command; the application has to be reloaded by hand.
        ReloadByHand,
        /// The server sees the account over the socket, and the application opens no connections over TCP.
        SeenOverSocket,
        /// The application still connects over TCP.
        StillOverTcp,
        /// Nothing connected in the time allowed.
        NothingConnected,
        /// The server refused logins.
        LoginsRefused,
        /// The application's processes have ended.
        ApplicationGone,
        /// The server no longer answers.
        ServerGone,
        /// All of the simultaneous connections, one per worker, were answered.
        BurstAnswered,
        /// Some of the simultaneous connections, one per worker, failed.
        BurstFailed,
        /// The page is as it was before.
        PageAsBefore,
        /// The page is not as it was before.
        PageDiffers,
        /// How many requests for the page failed during the switch.
        PageVisited,
        /// The user stopped the switch.
        Stopped,
        /// The old files were put back.
        FilesPutBack,
        /// The old files could not be put back.
        FilesNotPutBack,
        /// The application works as before.
        WorksAsBefore,
        /// looptax did not see whether the application works as before.
        NotSeenAgain,
        /// The time that requests took before and after the switch.
        RequestsTimed,
        /// A note about the proof.
        ProofNote,
        /// A line of the server's log.
        ServerLog,
    }
}
